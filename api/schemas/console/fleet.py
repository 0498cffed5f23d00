"""The fleet as columns."""

from __future__ import annotations

from api.schemas.base import (
    BOOLEAN,
    NUMBER,
    NUMBER_OR_NULL,
    STRING,
    STRING_MAP,
    STRING_OR_NULL,
    STRINGS,
    UUID,
    Schema,
    every,
    fields,
    integer,
    listed,
)
from objects.hosts.fleet import FLEET_LIMIT_MAX, HOST_STATES

INDEX_QUERY = fields(
    {
        "limit": integer(minimum=1, maximum=FLEET_LIMIT_MAX),
        "marker": UUID,
        "uuids": {
            **BOOLEAN,
            "description": "false leaves out the UUIDs, which are most of a compressed answer",
        },
    }
)

_COLUMNS = ("name", "cell", "zone", "state", "servers", "aggregates", "capacity", "used")
_NUMBERS = listed(NUMBER)
_SETS = listed(_NUMBERS)
_BY_CLASS: Schema = {"type": "object", "additionalProperties": listed(NUMBER_OR_NULL)}

INDEX_ANSWER = every(
    {
        "epoch": STRING,
        "hosts": fields(
            {
                "name": STRINGS,
                "uuid": listed(UUID),
                "cell": _NUMBERS,
                "zone": _NUMBERS,
                "state": listed({"enum": list(HOST_STATES)}),
                "servers": _NUMBERS,
                "aggregates": _SETS,
                "capacity": _BY_CLASS,
                "used": _BY_CLASS,
            },
            required=_COLUMNS,
        ),
        "names": every(
            {
                "cells": STRINGS,
                "zones": STRINGS,
                "aggregates": listed(every({"name": STRING, "metadata": STRING_MAP})),
            }
        ),
        "traits": every({"names": STRINGS, "sets": _SETS, "hosts": _NUMBERS}),
        "next_marker": STRING_OR_NULL,
    }
)
