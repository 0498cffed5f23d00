"""WebSocket server between users' terminals and the console ports of agents.

It holds no state: a link signed by the API names the agent to connect to, and the agent accepts the
token in it once. As long as a console is open, the API is asked whether the login is still valid
that it was opened with, and whether the server is still there.
"""

import contextlib
import dataclasses
import http
import ipaddress
import logging
import socket
import ssl
import threading
import urllib.parse
from collections.abc import Callable, Sequence
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve
from websockets.typing import Subprotocol

from armillary import exception
from armillary.consoles import handshake
from armillary.consoles.accepting import BoundedListener
from armillary.consoles.console_links import ConsoleKeys, ConsoleLink, open_sealed
from armillary.consoles.grant_checks import NO_ANSWER, NO_LONGER_GRANTED, GrantChecks, NoAnswer
from armillary.http.wsgi.request_head import flaw_of_hosts, flaw_of_target

LOG = logging.getLogger(__name__)

CONNECT_SECONDS_MAX = 10.0
PIECE_BYTES = 16 * 1024
MESSAGE_BYTES_MAX = 64 * 1024
TAKE_SECONDS_MAX = 60.0
"""Timeout for either side to take a piece: who does not read would keep its place for ever."""
NORMAL_END, POLICY_VIOLATION, INTERNAL_ERROR = 1000, 1008, 1011
_REASON_BYTES_MAX = 120
_BINARY = Subprotocol("binary")
_CONNECTIONS_FACTOR = 3
_OF_CLIENT_FACTOR = 2
"""Connections per console that may be open, and of one address: some have not presented a link."""

IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network
Handler = Callable[[socket.socket, Any], None]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProxyOptions:
    """Where to listen, and how both sides are encrypted; None: they are not."""

    host: str
    port: int
    keys: ConsoleKeys
    grants: GrantChecks
    connections_max: int
    users_tls: ssl.SSLContext | None = None
    agents_tls: ssl.SSLContext | None = None
    agent_networks: Sequence[IPNetwork] = ()
    """The networks that agents are in; none: any address that an agent names is connected to."""


class SerialProxy:
    """Serves each connection in a thread of its own."""

    def __init__(self, options: ProxyOptions) -> None:
        """Listen. Raises OSError."""
        self._options = options
        self._capacity = threading.BoundedSemaphore(options.connections_max)
        self._server: Server = serve(
            self._serve,
            options.host,
            options.port,
            ssl=options.users_tls,
            subprotocols=[_BINARY],
            select_subprotocol=_select,
            process_request=self._check,
            compression=None,
            max_size=MESSAGE_BYTES_MAX,
            server_header=None,
        )
        # The library stops serving at the first connection that cannot be accepted.
        listener = BoundedListener(
            self._server.socket,
            _CONNECTIONS_FACTOR * options.connections_max,
            _OF_CLIENT_FACTOR * options.connections_max,
        )
        self._server.socket = listener  # type: ignore[assignment]
        self._server.handler = _releasing(listener, self._server.handler)

    @property
    def address(self) -> tuple[str, int]:
        """Address and port where it listens."""
        host, port = self._server.socket.getsockname()[:2]
        return host, port

    def run(self) -> None:
        """Serve until ``stop`` is called."""
        self._server.serve_forever()

    def stop(self) -> None:
        """Accept no more connections."""
        with contextlib.suppress(OSError):  # which also wakes the thread that accepts
            self._server.socket.shutdown(socket.SHUT_RDWR)
        self._server.shutdown()

    def _check(self, connection: ServerConnection, request: Request) -> Response | None:
        """Refuse an unclear request and one without a valid link, before it is a WebSocket."""
        hosts = request.headers.get_all("Host")
        flaw = flaw_of_target(request.path) or flaw_of_hosts(hosts, version=request.protocol)
        if flaw is not None:
            return connection.respond(http.HTTPStatus.BAD_REQUEST, f"{flaw}\n")
        try:
            self._link(request)
        except exception.Invalid as error:
            return connection.respond(http.HTTPStatus.FORBIDDEN, f"{error}\n")
        return None

    def _link(self, request: Request) -> ConsoleLink:
        try:
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(request.path).query)
        except ValueError as error:
            raise exception.Invalid(reason="the address of the console is malformed") from error
        return open_sealed(query.get("token", [""])[0], self._options.keys)

    def _serve(self, user: ServerConnection) -> None:
        if not self._capacity.acquire(blocking=False):
            user.close(INTERNAL_ERROR, "too many consoles are open on this proxy")
            return
        try:
            assert user.request is not None  # it was checked
            self._connect(user, self._link(user.request))
        except exception.Invalid as error:
            user.close(POLICY_VIOLATION, _short(str(error)))
        finally:
            self._capacity.release()

    def _connect(self, user: ServerConnection, link: ConsoleLink) -> None:
        try:
            is_granted = self._options.grants.is_granted(link)
            agent = self._agent(link) if is_granted else None
        except NoAnswer as error:
            LOG.warning("%s: %s", link.instance_uuid, error)
            user.close(INTERNAL_ERROR, NO_ANSWER)
            return
        except OSError as error:
            LOG.warning("%s: cannot reach its console: %s", link.instance_uuid, error)
            user.close(INTERNAL_ERROR, "the console's host cannot be reached")
            return
        if agent is None:
            user.close(POLICY_VIOLATION, NO_LONGER_GRANTED)
            return
        with contextlib.closing(agent):
            refusal = _present(agent, link)
            if refusal is not None:
                LOG.info("%s: its console was refused: %s", link.instance_uuid, refusal)
                user.close(POLICY_VIOLATION, _short(refusal))
                return
            LOG.info("%s: a user is at its serial console", link.instance_uuid)
            relay = _Relay(user, agent)
            with self._options.grants.watching(link, relay.end):
                relay.run()
            LOG.info("%s: the user has left its serial console", link.instance_uuid)

    def _agent(self, link: ConsoleLink) -> socket.socket:
        address = self._agents_address(link)
        plain = socket.create_connection((address, link.port), CONNECT_SECONDS_MAX)
        if self._options.agents_tls is None:
            return plain
        try:
            return self._options.agents_tls.wrap_socket(plain, server_hostname=link.address)
        except OSError:
            plain.close()
            raise

    def _agents_address(self, link: ConsoleLink) -> str:
        """Return the address to connect to. Raises OSError if no agent may have it."""
        networks = self._options.agent_networks
        if not networks:
            return link.address
        found = socket.getaddrinfo(link.address, link.port, type=socket.SOCK_STREAM)
        for *_, (text, *_rest) in found:
            address = ipaddress.ip_address(str(text).partition("%")[0])
            if any(address in network for network in networks):
                return str(text)
        raise OSError(f"{link.address} is in none of the --agent-network")


def _releasing(listener: BoundedListener, handle: Handler) -> Handler:
    def handle_and_release(connection: socket.socket, address: Any) -> None:
        try:
            handle(connection, address)
        finally:
            listener.release(address)

    return handle_and_release


def _present(agent: socket.socket, link: ConsoleLink) -> str | None:
    try:
        return handshake.send_token(agent, link.token)
    except OSError as error:
        return f"the console's host did not answer: {error}"


class _Relay:
    """Passes bytes between user and agent, both ways, until one side ends."""

    def __init__(self, user: ServerConnection, agent: socket.socket) -> None:
        self._user = user
        self._agent = agent
        self._ending = NORMAL_END, ""

    def run(self) -> None:
        """Pass bytes until one side ends, or ``end`` is called."""
        with contextlib.suppress(OSError):  # of a user who has left already
            self._user.socket.settimeout(TAKE_SECONDS_MAX)
        self._agent.settimeout(TAKE_SECONDS_MAX)
        output = threading.Thread(target=self._to_user, name="console-output", daemon=True)
        output.start()
        with contextlib.suppress(OSError, ConnectionClosed):
            for message in self._user:
                data = message.encode() if isinstance(message, str) else message
                for start in range(0, len(data), PIECE_BYTES):
                    self._agent.sendall(data[start : start + PIECE_BYTES])
        self._leave_agent()
        output.join()

    def end(self, reason: str) -> None:
        """End it from another thread. Nothing more reaches the agent, whatever the user sends."""
        LOG.info("A console is closed: %s", reason)
        self._ending = POLICY_VIOLATION, _short(reason)
        self._leave_agent()

    def _to_user(self) -> None:
        with contextlib.suppress(OSError, ConnectionClosed):
            while data := self._output():
                self._user.send(data)
        self._leave_agent()  # which ends a send that waits for it
        self._user.close(*self._ending)

    def _output(self) -> bytes:
        """Return what the guest says next, however long that takes; nothing at its end."""
        while True:
            with contextlib.suppress(TimeoutError):
                return self._agent.recv(PIECE_BYTES)

    def _leave_agent(self) -> None:
        with contextlib.suppress(OSError):
            self._agent.shutdown(socket.SHUT_RDWR)


def _select(connection: ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    """Agree on binary messages with a client that names them; others need no agreement."""
    return _BINARY if _BINARY in offered else None


def _short(reason: str) -> str:
    return reason.encode()[:_REASON_BYTES_MAX].decode("utf-8", "ignore")
