"""Health: of this process, and of other services."""

from api.schemas.base import BOOLEAN, NUMBER, STRING, STRINGS, every, listed

CHECK_ANSWER = every({"status": {"const": "ok"}})

_SERVICE = every({"id": STRING, "binary": STRING, "host": STRING})

SHOW_ANSWER = every(
    {
        "health": every(
            {
                "healthy": BOOLEAN,
                "down_cells": STRINGS,
                "services": every(
                    {"total": NUMBER, "up": NUMBER, "disabled": NUMBER, "down": listed(_SERVICE)}
                ),
            }
        )
    }
)
