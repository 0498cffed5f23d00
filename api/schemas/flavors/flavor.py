"""Flavors: creation and display."""

from api.schemas import base

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

_ID = base.ruled(
    {**base.name(r"^[a-zA-Z0-9. _\-]+$"), "type": ["string", "integer", "null"]},
    "An id may contain letters, digits, spaces and -_. only, at most 255; 'auto' or null "
    "generates one",
)

_DESCRIPTION = base.nullable(base.text(maximum=65535))
FLOAT_MAX = 3.40282e38
"""Maximum of ``rxtx_factor``, as clients know it: that of a number of single precision."""

CREATE = base.fields(
    {
        "flavor": base.fields(
            {
                "name": base.name(),
                "id": _ID,
                "vcpus": base.integer(minimum=1),
                "ram": base.integer(minimum=1),
                "disk": base.integer(),
                "OS-FLV-EXT-DATA:ephemeral": base.integer(),
                "swap": base.integer(),
                "description": base.since(2, 55, _DESCRIPTION),
                "rxtx_factor": {"type": "number", "exclusiveMinimum": 0, "maximum": FLOAT_MAX},
                "os-flavor-access:is_public": base.BOOLEAN,
            },
            required=["name", "vcpus", "ram", "disk"],
        )
    },
    required=["flavor"],
)

UPDATE = base.every({"flavor": base.every({"description": _DESCRIPTION})})

_ACCESS = base.every({"tenant": base.name()})
ADD_ACCESS = base.every({"addTenantAccess": _ACCESS})
REMOVE_ACCESS = base.every({"removeTenantAccess": _ACCESS})
ACCESS_ANSWER = base.every(
    {"flavor_access": base.listed(base.every({"flavor_id": base.STRING, "tenant_id": base.STRING}))}
)

INDEX_QUERY = base.fields(
    {
        **base.PAGE,
        "minRam": base.integer(),
        "minDisk": base.integer(),
        "is_public": base.ruled(
            {"type": ["boolean", "string"], "enum": [True, False, "none", "None"]},
            "It must be true, false or none, which lists both kinds",
        ),
        "sort_key": base.one_or_more({"enum": [*SORT_KEYS, *CONSTANT_SORT_KEYS]}),
        "sort_dir": base.one_or_more(base.SORT_DIRECTION),
    }
)

EMBEDDED = base.every(
    {
        "original_name": base.STRING,
        "vcpus": base.NUMBER,
        "ram": base.NUMBER,
        "disk": base.NUMBER,
        "ephemeral": base.NUMBER,
        "swap": base.NUMBER,
        "extra_specs": base.STRING_MAP,
    }
)
"""A server's copy of its flavor."""

FLAVOR: base.Schema = base.every(
    {
        "id": base.STRING,
        "name": base.STRING,
        "vcpus": base.NUMBER,
        "ram": base.NUMBER,
        "disk": base.NUMBER,
        "OS-FLV-EXT-DATA:ephemeral": base.NUMBER,
        "swap": base.changed((2, 75), before={"type": ["integer", "string"]}, after=base.NUMBER),
        "rxtx_factor": {"type": "number"},
        "OS-FLV-DISABLED:disabled": base.BOOLEAN,
        "os-flavor-access:is_public": base.BOOLEAN,
        "description": base.since(2, 55, base.STRING_OR_NULL),
        "extra_specs": base.since(2, 61, base.STRING_MAP),
        "links": base.LINKS,
    }
)

SHOW_ANSWER = base.every({"flavor": FLAVOR})
_BRIEF = base.every(
    {**base.NAMED["properties"], "description": base.since(2, 55, base.STRING_OR_NULL)}
)
INDEX_ANSWER = base.fields(
    {"flavors": base.listed(_BRIEF), "flavors_links": base.LINKS}, required=["flavors"]
)
DETAIL_ANSWER = base.fields(
    {"flavors": base.listed(FLAVOR), "flavors_links": base.LINKS}, required=["flavors"]
)
