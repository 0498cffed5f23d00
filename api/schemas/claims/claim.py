"""Claims: what is asked of a pool, and what a claim has."""

from api.schemas import base
from objects.extra_specs.extra_specs import AMOUNT_MAX

TRAITS_MAX = 50
CLASSES_MAX = 20
_YEAR_SECONDS = 365 * 24 * 3600

_TRAITS: base.Schema = {**base.listed(base.name()), "maxItems": TRAITS_MAX, "uniqueItems": True}

CREATE = base.every(
    {
        "claim": base.fields(
            {
                "name": base.nullable(base.name()),
                "kind": base.name(),
                "resources": {
                    "type": "object",
                    "minProperties": 1,
                    "maxProperties": CLASSES_MAX,
                    "propertyNames": base.name(),
                    "additionalProperties": base.integer(minimum=1, maximum=AMOUNT_MAX),
                },
                "required": _TRAITS,
                "forbidden": _TRAITS,
                "pool": base.name(),
                "server_id": base.UUID,
                "ends_at": base.name(),
                "lifetime_seconds": base.integer(minimum=1, maximum=10 * _YEAR_SECONDS),
            },
            ["kind", "resources"],
        )
    }
)
INDEX_QUERY = base.fields(
    {
        **base.PAGE,
        "all_projects": base.BOOLEAN,
        "server_id": base.UUID,
        "kind": base.name(),
        "pool": base.name(),
    }
)

_SHOWN = {
    "id": base.STRING,
    "name": base.STRING_OR_NULL,
    "kind": base.STRING,
    "status": base.STRING,
    "resources": base.OBJECT,
    "required": base.STRINGS,
    "forbidden": base.STRINGS,
    "server_id": base.STRING_OR_NULL,
    "ends_at": base.TIME_OR_NULL,
    "project_id": base.STRING,
    "user_id": base.STRING,
    "fault": base.STRING_OR_NULL,
    "created_at": base.TIME_OR_NULL,
    "updated_at": base.TIME_OR_NULL,
}
_OF_POOLS = {
    "pool": base.STRING_OR_NULL,
    "pool_id": base.STRING_OR_NULL,
    "zone": base.STRING_OR_NULL,
    "alternates": base.STRINGS,
}
_CLAIM = base.fields({**_SHOWN, **_OF_POOLS}, _SHOWN)

INDEX_ANSWER = base.fields({"claims": base.listed(_CLAIM), "claims_links": base.LINKS}, ["claims"])
SHOW_ANSWER = base.every({"claim": _CLAIM})
EXPLAIN_ANSWER = base.every(
    {"explanation": base.every({"claim": _CLAIM, "trace": {"type": ["object", "null"]}})}
)

_QUOTAS: base.Schema = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": CLASSES_MAX,
    "propertyNames": base.name(),
    "additionalProperties": base.integer(minimum=-1),
}
UPDATE_QUOTAS = base.every({"claim_quotas": _QUOTAS})
QUOTAS_ANSWER = base.every(
    {
        "claim_quotas": {
            "type": "object",
            "additionalProperties": base.every({"limit": base.NUMBER, "in_use": base.NUMBER}),
        }
    }
)
