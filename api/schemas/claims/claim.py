"""Claims: what is asked of a pool, and what a claim has."""

from __future__ import annotations

from api.schemas.base import (
    BOOLEAN,
    LINKS,
    NUMBER,
    OBJECT,
    PAGE,
    STRING,
    STRING_OR_NULL,
    STRINGS,
    TIME_OR_NULL,
    UUID,
    Schema,
    every,
    fields,
    integer,
    listed,
    name,
    nullable,
)
from objects.extra_specs.extra_specs import AMOUNT_MAX

TRAITS_MAX = 50
CLASSES_MAX = 20
_YEAR_SECONDS = 365 * 24 * 3600

_TRAITS: Schema = {**listed(name()), "maxItems": TRAITS_MAX, "uniqueItems": True}

CREATE = every(
    {
        "claim": fields(
            {
                "name": nullable(name()),
                "kind": name(),
                "resources": {
                    "type": "object",
                    "minProperties": 1,
                    "maxProperties": CLASSES_MAX,
                    "propertyNames": name(),
                    "additionalProperties": integer(minimum=1, maximum=AMOUNT_MAX),
                },
                "required": _TRAITS,
                "forbidden": _TRAITS,
                "pool": name(),
                "server_id": UUID,
                "ends_at": name(),
                "lifetime_seconds": integer(minimum=1, maximum=10 * _YEAR_SECONDS),
            },
            ["kind", "resources"],
        )
    }
)
INDEX_QUERY = fields({**PAGE, "all_projects": BOOLEAN, "server_id": UUID, "kind": name()})

_SHOWN = {
    "id": STRING,
    "name": STRING_OR_NULL,
    "kind": STRING,
    "status": STRING,
    "resources": OBJECT,
    "required": STRINGS,
    "forbidden": STRINGS,
    "server_id": STRING_OR_NULL,
    "ends_at": TIME_OR_NULL,
    "project_id": STRING,
    "user_id": STRING,
    "fault": STRING_OR_NULL,
    "created_at": TIME_OR_NULL,
    "updated_at": TIME_OR_NULL,
}
_OF_POOLS = {
    "pool": STRING_OR_NULL,
    "pool_id": STRING_OR_NULL,
    "zone": STRING_OR_NULL,
    "alternates": STRINGS,
}
_CLAIM = fields({**_SHOWN, **_OF_POOLS}, _SHOWN)

INDEX_ANSWER = fields({"claims": listed(_CLAIM), "claims_links": LINKS}, ["claims"])
SHOW_ANSWER = every({"claim": _CLAIM})
EXPLAIN_ANSWER = every(
    {"explanation": every({"claim": _CLAIM, "trace": {"type": ["object", "null"]}})}
)

_QUOTAS: Schema = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": CLASSES_MAX,
    "propertyNames": name(),
    "additionalProperties": integer(minimum=-1),
}
UPDATE_QUOTAS = every({"claim_quotas": _QUOTAS})
QUOTAS_ANSWER = every(
    {
        "claim_quotas": {
            "type": "object",
            "additionalProperties": every({"limit": NUMBER, "in_use": NUMBER}),
        }
    }
)
