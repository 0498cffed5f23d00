"""Services: their state, and disabling and forcing down hosts."""

from api.schemas import base

INDEX_QUERY = base.fields({"host": base.HOST, "binary": base.name()})

INTEGER_ID_MAX = 2**48 - 1

_STATUS = {"enum": ["enabled", "disabled"]}

UPDATE: base.Schema = {
    **base.fields(
        {
            "status": base.ruled(_STATUS, "The status must be 'enabled' or 'disabled'"),
            "disabled_reason": base.name(),
            "forced_down": base.BOOLEAN,
        }
    ),
    "minProperties": 1,
}

ENABLE = base.every({"host": base.HOST, "binary": base.name()})
DISABLE_WITH_REASON = base.every(
    {"host": base.HOST, "binary": base.name(), "disabled_reason": base.name()}
)
FORCE_DOWN = base.every({"host": base.HOST, "binary": base.name(), "forced_down": base.BOOLEAN})

_SERVICE: dict[str, base.Part] = {
    "id": base.changed((2, 53), before=base.integer(maximum=INTEGER_ID_MAX), after=base.STRING),
    "binary": base.STRING,
    "host": base.STRING,
    "zone": base.STRING,
    "status": _STATUS,
    "state": {"enum": ["up", "down"]},
    "updated_at": base.TIME_OR_NULL,
    "disabled_reason": base.STRING_OR_NULL,
    "forced_down": base.since(2, 11, base.BOOLEAN),
    "armillary:cell_uuid": base.STRING_OR_NULL,
    "armillary:version": base.integer(),
}

INDEX_ANSWER = base.fields(
    {
        "services": base.listed(base.every({**_SERVICE, "armillary:cell": base.STRING_OR_NULL})),
        "armillary:down_cells": base.STRINGS,
    },
    required=["services"],
)
UPDATE_ANSWER = base.every({"service": base.every(_SERVICE)})


def _changed(*shown: str) -> base.Schema:
    """Return the answer of a path that changes a service by host and binary."""
    return base.every(
        {
            "service": base.every(
                {
                    each: schema if each in shown else base.own(schema)
                    for each, schema in _SERVICE.items()
                }
            )
        }
    )


ENABLE_ANSWER = _changed("host", "binary", "status")
DISABLE_WITH_REASON_ANSWER = _changed("host", "binary", "status", "disabled_reason")
FORCE_DOWN_ANSWER = _changed("host", "binary", "forced_down")
