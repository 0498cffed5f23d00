"""Current activity of the services."""

from api.schemas import base
from api.schemas.console.fleet_host import SERVICE
from api.schemas.scheduling.zone import NESTED

_FIGURES: base.Schema = {"type": "object", "additionalProperties": {"type": "number"}}
_SERVICE: base.Schema = {
    **SERVICE,
    "properties": {**SERVICE["properties"], "cell": base.STRING_OR_NULL, "figures": _FIGURES},
    "required": [*SERVICE["required"], "cell", "figures"],
}
_HOST: base.Schema = {
    **SERVICE,
    "properties": {**SERVICE["properties"], "cell": base.STRING_OR_NULL},
    "required": [*SERVICE["required"], "cell"],
}
_SECONDS_OR_NULL: base.Schema = {"type": ["number", "null"]}

SHOW_ANSWER = base.every(
    {
        "at": base.STRING,
        "services": base.listed(_SERVICE),
        "hosts": base.every(
            {
                "total": base.NUMBER,
                "up": base.NUMBER,
                "disabled": base.NUMBER,
                "down": base.listed(_HOST),
            }
        ),
        "zones": base.listed(
            base.every(
                {
                    "path": base.STRING,
                    "state": base.STRING,
                    "summary_age_seconds": _SECONDS_OR_NULL,
                    "hosts": base.NUMBER_OR_NULL,
                    "hosts_up": base.NUMBER_OR_NULL,
                    "zones": base.listed(NESTED),
                }
            )
        ),
        "works": base.listed(
            base.every(
                {
                    "cell": base.STRING_OR_NULL,
                    "kind": base.STRING,
                    "operation": base.STRING_OR_NULL,
                    "stage": base.STRING,
                    "count": base.NUMBER,
                    "without_lease": base.NUMBER,
                }
            )
        ),
        "totals": _FIGURES,
        "down_cells": base.STRINGS,
    }
)
