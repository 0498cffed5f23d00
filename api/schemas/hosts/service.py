"""Services: their state, and disabling and forcing down hosts."""

from __future__ import annotations

from api.schemas.base import (
    BOOLEAN,
    HOST,
    STRING,
    STRING_OR_NULL,
    STRINGS,
    TIME_OR_NULL,
    Part,
    Schema,
    changed,
    every,
    fields,
    integer,
    listed,
    name,
    own,
    ruled,
    since,
)

INDEX_QUERY = fields({"host": HOST, "binary": name()})

INTEGER_ID_MAX = 2**48 - 1

_STATUS = {"enum": ["enabled", "disabled"]}

UPDATE: Schema = {
    **fields(
        {
            "status": ruled(_STATUS, "The status must be 'enabled' or 'disabled'"),
            "disabled_reason": name(),
            "forced_down": BOOLEAN,
        }
    ),
    "minProperties": 1,
}

ENABLE = every({"host": HOST, "binary": name()})
DISABLE_WITH_REASON = every({"host": HOST, "binary": name(), "disabled_reason": name()})
FORCE_DOWN = every({"host": HOST, "binary": name(), "forced_down": BOOLEAN})

_SERVICE: dict[str, Part] = {
    "id": changed((2, 53), before=integer(maximum=INTEGER_ID_MAX), after=STRING),
    "binary": STRING,
    "host": STRING,
    "zone": STRING,
    "status": _STATUS,
    "state": {"enum": ["up", "down"]},
    "updated_at": TIME_OR_NULL,
    "disabled_reason": STRING_OR_NULL,
    "forced_down": since(2, 11, BOOLEAN),
    "armillary:cell_uuid": STRING_OR_NULL,
    "armillary:version": integer(),
}

INDEX_ANSWER = fields(
    {"services": listed(every(_SERVICE)), "armillary:down_cells": STRINGS}, required=["services"]
)
UPDATE_ANSWER = every({"service": every(_SERVICE)})


def _changed(*shown: str) -> Schema:
    """Return the answer of a path that changes a service by host and binary."""
    return every(
        {
            "service": every(
                {
                    each: schema if each in shown else own(schema)
                    for each, schema in _SERVICE.items()
                }
            )
        }
    )


ENABLE_ANSWER = _changed("host", "binary", "status")
DISABLE_WITH_REASON_ANSWER = _changed("host", "binary", "status", "disabled_reason")
FORCE_DOWN_ANSWER = _changed("host", "binary", "forced_down")
