"""Images: records of what servers are built from; there is no separate image service."""

from api.schemas import base

PROPERTY_CHARACTERS_MAX = 16384
"""Long enough for a command line and an environment."""

SIZE_BYTES_MAX = 2**63 - 1

CREATE = base.fields(
    {
        "image": base.fields(
            {
                "id": base.UUID,
                "name": base.name(),
                "disk_format": {"type": ["string", "null"], "pattern": "^[a-z0-9]{1,20}$"},
                "minRam": base.integer(),
                "minDisk": base.integer(),
                "size": base.integer(maximum=SIZE_BYTES_MAX),
                "properties": base.text_map(PROPERTY_CHARACTERS_MAX),
            },
            required=["name"],
        )
    },
    required=["image"],
)

INDEX_QUERY = base.fields(
    {
        **base.PAGE,
        "name": base.name(),
        "status": base.text(),
        "server": base.text(maximum=2048),
        "type": base.text(),
        "changes-since": base.text(),
        "minDisk": base.integer(),
        "minRam": base.integer(),
    }
)

_FIELDS: dict[str, base.Part] = {
    "id": base.STRING,
    "name": base.STRING,
    "status": base.STRING,
    "progress": base.NUMBER,
    "disk_format": base.own(base.STRING_OR_NULL),
    "minRam": base.NUMBER,
    "minDisk": base.NUMBER,
    "OS-EXT-IMG-SIZE:size": base.NUMBER,
    "metadata": base.STRING_MAP,
    "properties": base.own(base.STRING_MAP),
    "created": base.TIME_OR_NULL,
    "updated": base.TIME_OR_NULL,
    "links": base.LINKS,
}
IMAGE = base.fields({**_FIELDS, "server": base.ENTITY}, _FIELDS)

SHOW_ANSWER = base.every({"image": IMAGE})
INDEX_ANSWER = base.fields(
    {"images": base.listed(base.NAMED), "images_links": base.LINKS}, required=["images"]
)
DETAIL_ANSWER = base.fields(
    {"images": base.listed(IMAGE), "images_links": base.LINKS}, required=["images"]
)
