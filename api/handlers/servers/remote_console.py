"""Remote consoles: serial ones, where they are enabled; no driver has others."""

from __future__ import annotations

from collections.abc import Callable

from api.call import Call
from api.console_grants import ConsoleGrant
from api.handlers.servers import server
from api.policies.servers import remote_console as policies
from api.schemas.servers import remote_console as schemas
from armillary import exception
from armillary.http.call import Answer
from armillary.http.dispatch import Routes

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
    api_url = links.api_url or call.local_origin
    if api_url is None:
        raise _unavailable(kind, "[serial_console] api_url is not set for the API")
    uuid = call.path["server_id"]
    try:
        console = call.conductor.create_serial_console(call.context, uuid)
    except exception.OperationUnsupported as error:
        raise _unavailable(kind, error.kwargs["reason"]) from error
    return links.url(uuid, console, api_url=api_url, grant=_grant(call, uuid))


def _grant(call: Call, uuid: str) -> str:
    """Return what the proxy asks about as long as the console is open."""
    assert call.site.console_grants is not None, "there are links, so there are grants"
    is_by_cookie = call.session_cookie is not None
    return call.site.console_grants.sealed(
        ConsoleGrant(
            instance_uuid=uuid,
            host=call.subject.host,
            token=None if is_by_cookie else call.token,
            cookie=call.session_cookie,
        )
    )


def _unavailable(kind: str, reason: str) -> exception.Invalid:
    return exception.Invalid(
        f"Unavailable console type {kind}: {reason}. The output of a console is shown by "
        "os-getConsoleOutput."
    )


ACTIONS = {
    f"os-get{protocol}Console": server.action(
        _handler(protocol),
        policies.CREATE,
        schemas.ACTION_ANSWER,
        body=schemas.action(f"os-get{protocol}Console"),
        until=schemas.ACTION_UNTIL,
    )
    for protocol in PROTOCOLS
}

ROUTES: Routes[Call] = {
    "/v2.1/servers/{server_id}/remote-consoles": {
        "POST": server.action(
            create, policies.CREATE, schemas.CREATE_ANSWER, body=schemas.CREATE, since=SINCE
        )
    }
}
