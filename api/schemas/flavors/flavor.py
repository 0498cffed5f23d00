"""Flavors: creation and display."""

from __future__ import annotations

from api.schemas.base import (
    BOOLEAN,
    LINKS,
    NAMED,
    NUMBER,
    PAGE,
    STRING,
    STRING_MAP,
    STRING_OR_NULL,
    Schema,
    changed,
    every,
    fields,
    integer,
    listed,
    name,
    nullable,
    ruled,
    since,
    text,
)

_ID = ruled(
    {**name(r"^[a-zA-Z0-9. _\-]+$"), "type": ["string", "integer", "null"]},
    "An id may contain letters, digits, spaces and -_. only, at most 255; 'auto' or null "
    "generates one",
)

CREATE = fields(
    {
        "flavor": fields(
            {
                "name": name(),
                "id": _ID,
                "vcpus": integer(minimum=1),
                "ram": integer(minimum=1),
                "disk": integer(),
                "OS-FLV-EXT-DATA:ephemeral": integer(),
                "swap": integer(),
                "description": nullable(text(maximum=65535)),
                "rxtx_factor": ruled(
                    {"type": "number", "const": 1},
                    "Networking is not part of this service: only 1.0 is allowed",
                ),
                "os-flavor-access:is_public": ruled(
                    {"type": "boolean", "const": True},
                    "All flavors are public: only true is allowed",
                ),
            },
            required=["name", "vcpus", "ram", "disk"],
        )
    },
    required=["flavor"],
)

INDEX_QUERY = fields(
    {
        **PAGE,
        "minRam": integer(),
        "minDisk": integer(),
        "is_public": ruled(
            {"enum": ["true", "True", "1", "none", "None"]},
            "All flavors are public: only true and none are allowed",
        ),
    }
)

EMBEDDED = every(
    {
        "original_name": STRING,
        "vcpus": NUMBER,
        "ram": NUMBER,
        "disk": NUMBER,
        "ephemeral": NUMBER,
        "swap": NUMBER,
        "extra_specs": STRING_MAP,
    }
)
"""A server's copy of its flavor."""

FLAVOR: Schema = every(
    {
        "id": STRING,
        "name": STRING,
        "vcpus": NUMBER,
        "ram": NUMBER,
        "disk": NUMBER,
        "OS-FLV-EXT-DATA:ephemeral": NUMBER,
        "swap": changed((2, 75), before={"type": ["integer", "string"]}, after=NUMBER),
        "rxtx_factor": {"const": 1.0},
        "OS-FLV-DISABLED:disabled": BOOLEAN,
        "os-flavor-access:is_public": BOOLEAN,
        "description": since(2, 55, STRING_OR_NULL),
        "extra_specs": since(2, 61, STRING_MAP),
        "links": LINKS,
    }
)

SHOW_ANSWER = every({"flavor": FLAVOR})
_BRIEF = every({**NAMED["properties"], "description": since(2, 55, STRING_OR_NULL)})
INDEX_ANSWER = fields({"flavors": listed(_BRIEF), "flavors_links": LINKS}, required=["flavors"])
DETAIL_ANSWER = fields({"flavors": listed(FLAVOR), "flavors_links": LINKS}, required=["flavors"])
