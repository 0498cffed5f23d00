"""Images: records of what servers are built from; there is no separate image service."""

from __future__ import annotations

from api.schemas.base import (
    ENTITY,
    LINKS,
    NAMED,
    NUMBER,
    PAGE,
    STRING,
    STRING_MAP,
    STRING_OR_NULL,
    TIME_OR_NULL,
    UUID,
    Part,
    every,
    fields,
    integer,
    listed,
    name,
    own,
    text,
    text_map,
)

PROPERTY_CHARACTERS_MAX = 16384
"""Long enough for a command line and an environment."""

SIZE_BYTES_MAX = 2**63 - 1

CREATE = fields(
    {
        "image": fields(
            {
                "id": UUID,
                "name": name(),
                "disk_format": {"type": ["string", "null"], "pattern": "^[a-z0-9]{1,20}$"},
                "minRam": integer(),
                "minDisk": integer(),
                "size": integer(maximum=SIZE_BYTES_MAX),
                "properties": text_map(PROPERTY_CHARACTERS_MAX),
            },
            required=["name"],
        )
    },
    required=["image"],
)

INDEX_QUERY = fields(
    {
        **PAGE,
        "name": name(),
        "status": text(),
        "server": text(maximum=2048),
        "type": text(),
        "changes-since": text(),
        "minDisk": integer(),
        "minRam": integer(),
    }
)

_FIELDS: dict[str, Part] = {
    "id": STRING,
    "name": STRING,
    "status": STRING,
    "progress": NUMBER,
    "disk_format": own(STRING_OR_NULL),
    "minRam": NUMBER,
    "minDisk": NUMBER,
    "OS-EXT-IMG-SIZE:size": NUMBER,
    "metadata": STRING_MAP,
    "properties": own(STRING_MAP),
    "created": TIME_OR_NULL,
    "updated": TIME_OR_NULL,
    "links": LINKS,
}
IMAGE = fields({**_FIELDS, "server": ENTITY}, _FIELDS)

SHOW_ANSWER = every({"image": IMAGE})
INDEX_ANSWER = fields({"images": listed(NAMED), "images_links": LINKS}, required=["images"])
DETAIL_ANSWER = fields({"images": listed(IMAGE), "images_links": LINKS}, required=["images"])
