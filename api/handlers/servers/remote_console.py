"""Remote consoles: serial ones, where they are enabled; no driver has others."""

from __future__ import annotations

from collections.abc import Callable

from api.call import Call
from api.handlers.servers import server
from api.policies.servers import remote_console as policies
from api.schemas.servers import remote_console as schemas
from armillary import exception
from armillary.http.call import Answer
from armillary.http.dispatch import Action, Routes

SINCE = (2, 6)
"""Since this version consoles have a path; in earlier ones each protocol has an action."""
PROTOCOLS = ("VNC", "SPICE", "RDP", "Serial")
SERIAL = "serial"


def create(call: Call) -> Answer:
    """Return a link to a console that can be used once."""
    wanted = call.body["remote_console"]
    url = _url(call, wanted["protocol"], wanted["type"])
    return Answer({"remote_console": {**wanted, "url": url}})


def _handler(protocol: str) -> Callable[[Call], Answer]:
    """Return the handler of a protocol's action."""

    def handle(call: Call) -> Answer:
        (wanted,) = call.body.values()
        url = _url(call, protocol.lower(), wanted["type"])
        return Answer({"console": {"type": wanted["type"], "url": url}})

    handle.__name__ = f"create_{protocol.lower()}_console"
    handle.__doc__ = f"Return a link to a {protocol} console that can be used once."
    return handle


def _url(call: Call, protocol: str, kind: str) -> str:
    """Return the link to a console. Raises Invalid for one that is not available."""
    if (protocol, kind) != (SERIAL, SERIAL):
        raise _unavailable(kind, "no driver has such consoles")
    links = call.site.serial_consoles
    if links is None:
        raise _unavailable(kind, "[serial_console] enabled is not set for the API")
    uuid = call.path["server_id"]
    try:
        return links.url(uuid, call.conductor.create_serial_console(call.context, uuid))
    except exception.OperationUnsupported as error:
        raise _unavailable(kind, error.kwargs["reason"]) from error


def _unavailable(kind: str, reason: str) -> exception.Invalid:
    return exception.Invalid(
        f"Unavailable console type {kind}: {reason}. The output of a console is shown by "
        "os-getConsoleOutput."
    )


ACTIONS = {
    f"os-get{protocol}Console": Action(
        _handler(protocol),
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
