"""Current activity of the services."""

from __future__ import annotations

from api.schemas.base import (
    NUMBER,
    NUMBER_OR_NULL,
    STRING,
    STRING_OR_NULL,
    STRINGS,
    Schema,
    every,
    listed,
)
from api.schemas.console.fleet_host import SERVICE
from api.schemas.scheduling.zone import NESTED

_FIGURES: Schema = {"type": "object", "additionalProperties": {"type": "number"}}
_SERVICE: Schema = {
    **SERVICE,
    "properties": {**SERVICE["properties"], "cell": STRING_OR_NULL, "figures": _FIGURES},
    "required": [*SERVICE["required"], "cell", "figures"],
}
_HOST: Schema = {
    **SERVICE,
    "properties": {**SERVICE["properties"], "cell": STRING_OR_NULL},
    "required": [*SERVICE["required"], "cell"],
}
_SECONDS_OR_NULL: Schema = {"type": ["number", "null"]}

SHOW_ANSWER = every(
    {
        "at": STRING,
        "services": listed(_SERVICE),
        "hosts": every({"total": NUMBER, "up": NUMBER, "disabled": NUMBER, "down": listed(_HOST)}),
        "zones": listed(
            every(
                {
                    "path": STRING,
                    "state": STRING,
                    "summary_age_seconds": _SECONDS_OR_NULL,
                    "hosts": NUMBER_OR_NULL,
                    "hosts_up": NUMBER_OR_NULL,
                    "zones": listed(NESTED),
                }
            )
        ),
        "works": listed(
            every(
                {
                    "cell": STRING_OR_NULL,
                    "kind": STRING,
                    "operation": STRING_OR_NULL,
                    "stage": STRING,
                    "count": NUMBER,
                    "without_lease": NUMBER,
                }
            )
        ),
        "totals": _FIGURES,
        "down_cells": STRINGS,
    }
)
