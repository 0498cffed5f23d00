"""GET /healthcheck: whether this process can do its work, which is whether its database answers."""

from __future__ import annotations

from placement.rest.call import Answer, Call


def check(call: Call) -> Answer:
    """Tell whether the database answers."""
    call.engine.ping()
    return Answer({"status": "ok"})
