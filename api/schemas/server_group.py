"""Server groups: affinity and anti-affinity between servers."""

from __future__ import annotations

from api.schemas.base import (
    BOOLEAN,
    LINKS,
    OBJECT,
    PAGE,
    STRING,
    STRINGS,
    Schema,
    every,
    fields,
    integer,
    listed,
    name,
)
from objects.instances.instance_group import POLICIES

_POLICY: Schema = {"enum": list(POLICIES)}

CREATE = every(
    {
        "server_group": fields(
            {
                "name": name(),
                "policy": _POLICY,
                "policies": {"type": "array", "items": _POLICY, "minItems": 1, "maxItems": 1},
                "rules": fields({"max_server_per_host": integer(minimum=1)}),
            },
            required=["name"],
        )
    }
)

INDEX_QUERY = fields({**PAGE, "offset": integer(), "all_projects": BOOLEAN})

GROUP = every(
    {
        "id": STRING,
        "name": STRING,
        "policy": STRING,
        "policies": STRINGS,
        "rules": OBJECT,
        "members": STRINGS,
        "metadata": OBJECT,
        "project_id": STRING,
        "user_id": STRING,
    }
)

SHOW_ANSWER = every({"server_group": GROUP})
INDEX_ANSWER = fields(
    {"server_groups": listed(GROUP), "server_groups_links": LINKS}, required=["server_groups"]
)
