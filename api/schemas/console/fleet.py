"""The fleet as columns."""

from api.schemas import base
from objects.hosts.fleet import FLEET_LIMIT_MAX, HOST_STATES

INDEX_QUERY = base.fields(
    {
        "limit": base.integer(minimum=1, maximum=FLEET_LIMIT_MAX),
        "marker": base.UUID,
        "uuids": {
            **base.BOOLEAN,
            "description": "false leaves out the UUIDs, which are most of a compressed answer",
        },
    }
)

_COLUMNS = ("name", "cell", "zone", "state", "servers", "aggregates", "capacity", "used")
_NUMBERS = base.listed(base.NUMBER)
_SETS = base.listed(_NUMBERS)
_BY_CLASS: base.Schema = {
    "type": "object",
    "additionalProperties": base.listed(base.NUMBER_OR_NULL),
}

INDEX_ANSWER = base.every(
    {
        "epoch": base.STRING,
        "hosts": base.fields(
            {
                "name": base.STRINGS,
                "uuid": base.listed(base.UUID),
                "cell": _NUMBERS,
                "zone": _NUMBERS,
                "state": base.listed({"enum": list(HOST_STATES)}),
                "servers": _NUMBERS,
                "aggregates": _SETS,
                "capacity": _BY_CLASS,
                "used": _BY_CLASS,
            },
            required=_COLUMNS,
        ),
        "names": base.every(
            {
                "cells": base.STRINGS,
                "zones": base.STRINGS,
                "aggregates": base.listed(
                    base.every({"name": base.STRING, "metadata": base.STRING_MAP})
                ),
            }
        ),
        "traits": base.every({"names": base.STRINGS, "sets": _SETS, "hosts": _NUMBERS}),
        "next_marker": base.STRING_OR_NULL,
    }
)
