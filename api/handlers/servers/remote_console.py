"""Remote consoles: no driver has any, so each kind is refused as one that is not available."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from api.call import Call
from api.handlers.servers import server
from api.policies.servers import remote_console as policies
from api.schemas.servers import remote_console as schemas
from armillary import exception
from armillary.http.dispatch import Action, Routes

SINCE = (2, 6)
"""Since this version consoles have a path; in earlier ones each protocol has an action."""
PROTOCOLS = ("VNC", "SPICE", "RDP", "Serial")


def create(call: Call) -> NoReturn:
    """Refuse a console, by its type."""
    raise _unavailable(call.body["remote_console"]["type"])


def _refuse(protocol: str) -> Callable[[Call], NoReturn]:
    """Return the handler of a protocol's action."""

    def handle(call: Call) -> NoReturn:
        (wanted,) = call.body.values()
        raise _unavailable(wanted["type"])

    handle.__name__ = f"create_{protocol.lower()}_console"
    handle.__doc__ = f"Refuse a {protocol} console, by its type."
    return handle


def _unavailable(kind: str) -> exception.Invalid:
    return exception.Invalid(
        f"Unavailable console type {kind}: no driver has remote consoles. The output of a console "
        "is shown by os-getConsoleOutput."
    )


ACTIONS = {
    f"os-get{protocol}Console": Action(
        _refuse(protocol),
        policies.CREATE,
        schemas.ACTION_ANSWER,
        body=schemas.action(f"os-get{protocol}Console"),
        until=schemas.ACTION_UNTIL,
        subject=server.load,
    )
    for protocol in PROTOCOLS
}

ROUTES: Routes[Call] = {
    "/v2.1/servers/{server_id}/remote-consoles": {
        "POST": Action(
            create,
            policies.CREATE,
            schemas.CREATE_ANSWER,
            body=schemas.CREATE,
            since=SINCE,
            subject=server.load,
        )
    }
}
