"""Flavors: creation and display."""

from __future__ import annotations

from api.schemas.base import (
    BOOLEAN,
    LINKS,
    NAMED,
    NUMBER,
    PAGE,
    SORT_DIRECTION,
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
    one_or_more,
    ruled,
    since,
    text,
)

SORT_KEYS = {
    "flavorid": "flavorid",
    "name": "name",
    "memory_mb": "memory_mb",
    "vcpus": "vcpus",
    "root_gb": "root_gb",
    "ephemeral_gb": "ephemeral_gb",
    "swap": "swap_mb",
    "rxtx_factor": "rxtx_factor",
    "disabled": "disabled",
    "is_public": "is_public",
    "description": "description",
    "created_at": "created_at",
    "updated_at": "updated_at",
    "id": "created_at",
}
"""Values of the query's ``sort_key``, and fields of flavors; an ``id`` is a running number."""
CONSTANT_SORT_KEYS = ("vcpu_weight",)
"""Values of ``sort_key`` by which all flavors are equal here."""

_ID = ruled(
    {**name(r"^[a-zA-Z0-9. _\-]+$"), "type": ["string", "integer", "null"]},
    "An id may contain letters, digits, spaces and -_. only, at most 255; 'auto' or null "
    "generates one",
)

_DESCRIPTION = nullable(text(maximum=65535))
FLOAT_MAX = 3.40282e38
"""Maximum of ``rxtx_factor``, as clients know it: that of a number of single precision."""

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
                "description": since(2, 55, _DESCRIPTION),
                "rxtx_factor": {"type": "number", "exclusiveMinimum": 0, "maximum": FLOAT_MAX},
                "os-flavor-access:is_public": BOOLEAN,
            },
            required=["name", "vcpus", "ram", "disk"],
        )
    },
    required=["flavor"],
)

UPDATE = every({"flavor": every({"description": _DESCRIPTION})})

_ACCESS = every({"tenant": name()})
ADD_ACCESS = every({"addTenantAccess": _ACCESS})
REMOVE_ACCESS = every({"removeTenantAccess": _ACCESS})
ACCESS_ANSWER = every({"flavor_access": listed(every({"flavor_id": STRING, "tenant_id": STRING}))})

INDEX_QUERY = fields(
    {
        **PAGE,
        "minRam": integer(),
        "minDisk": integer(),
        "is_public": ruled(
            {"type": ["boolean", "string"], "enum": [True, False, "none", "None"]},
            "It must be true, false or none, which lists both kinds",
        ),
        "sort_key": one_or_more({"enum": [*SORT_KEYS, *CONSTANT_SORT_KEYS]}),
        "sort_dir": one_or_more(SORT_DIRECTION),
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
        "rxtx_factor": {"type": "number"},
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
