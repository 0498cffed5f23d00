"""Services: their state, and disabling and forcing down hosts."""

from __future__ import annotations

from api.schemas.base import (
    BOOLEAN,
    HOST,
    STRING,
    STRING_OR_NULL,
    STRINGS,
    TIME_OR_NULL,
    Schema,
    every,
    fields,
    integer,
    listed,
    name,
    ruled,
)

INDEX_QUERY = fields({"host": HOST, "binary": name()})

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

SERVICE = every(
    {
        "id": STRING,
        "binary": STRING,
        "host": STRING,
        "zone": STRING_OR_NULL,
        "status": _STATUS,
        "state": {"enum": ["up", "down"]},
        "updated_at": TIME_OR_NULL,
        "disabled_reason": STRING_OR_NULL,
        "forced_down": BOOLEAN,
        "armillary:cell_uuid": STRING_OR_NULL,
        "armillary:version": integer(),
    }
)

INDEX_ANSWER = fields(
    {"services": listed(SERVICE), "armillary:down_cells": STRINGS}, required=["services"]
)
UPDATE_ANSWER = every({"service": SERVICE})
