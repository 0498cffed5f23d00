"""Dry runs: a build request or a request spec; the selected hosts, and the reasons."""

from api.schemas.base import MAP_SIZE_MAX, OBJECT, STRING_OR_NULL, every, fields, listed
from api.schemas.servers import server

_AS_BUILT = server.CREATE["properties"]

CREATE = fields(
    {
        **_AS_BUILT,
        "server": {**_AS_BUILT["server"], "required": ["flavorRef"]},
        "request_spec": {"type": "object", "maxProperties": MAP_SIZE_MAX},
    }
)

_HOST = every(
    {
        "host": STRING_OR_NULL,
        "node": STRING_OR_NULL,
        "availability_zone": STRING_OR_NULL,
        "allocations": OBJECT,
        "alternates": listed(STRING_OR_NULL),
        "zone": STRING_OR_NULL,
        "host_id": STRING_OR_NULL,
        "alternate_zones": listed(STRING_OR_NULL),
    }
)

CREATE_ANSWER = every({"dry_run": every({"hosts": listed(_HOST), "trace": OBJECT})})
