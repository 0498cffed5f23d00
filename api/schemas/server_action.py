"""Bodies of the actions on a server."""

from __future__ import annotations

from api.schemas.base import (
    BOOLEAN,
    HOST,
    STRING,
    TEXT_MAX,
    ZONE,
    Schema,
    every,
    fields,
    integer,
    nullable,
    ruled,
    text,
)

CONSOLE_LINES_MAX = 100_000

_REFERENCE = text(maximum=2048, minimum=1)
_NOTHING: Schema = {"type": ["null", "object"], "maxProperties": 0}
_HOST_OR_NULL = nullable(HOST)


def nothing(action: str) -> Schema:
    """Return the body of an action without parameters."""
    return every({action: _NOTHING})


def _perhaps(action: str, properties: dict[str, Schema]) -> Schema:
    """Return the body of an action whose parameters are all optional."""
    return every({action: nullable(fields(properties))})


REBOOT = every(
    {
        "reboot": every(
            {"type": ruled({"enum": ["SOFT", "HARD"]}, "The type must be 'SOFT' or 'HARD'")}
        )
    }
)
LOCK = _perhaps("lock", {"locked_reason": text(TEXT_MAX, minimum=1)})
RESIZE = every({"resize": fields({"flavorRef": _REFERENCE, "OS-DCF:diskConfig": STRING},
                                 required=["flavorRef"])})  # fmt: skip
MIGRATE = _perhaps("migrate", {"host": _HOST_OR_NULL})
LIVE_MIGRATE = _perhaps(
    "os-migrateLive", {"host": _HOST_OR_NULL, "block_migration": {"enum": [True, False, "auto"]}}
)
EVACUATE = _perhaps(
    "evacuate", {"host": _HOST_OR_NULL, "onSharedStorage": BOOLEAN, "adminPass": STRING}
)
UNSHELVE = _perhaps("unshelve", {"availability_zone": nullable(ZONE), "host": HOST})
CONSOLE_OUTPUT = _perhaps(
    "os-getConsoleOutput", {"length": integer(minimum=0, maximum=CONSOLE_LINES_MAX)}
)
CONSOLE_OUTPUT_ANSWER = every({"output": STRING})
