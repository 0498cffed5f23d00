"""The agent's port for serial consoles: a token first, then the bytes between proxy and guest."""

import contextlib
import logging
import socket
import threading
from collections.abc import Callable

from oslo_config import cfg

from armillary import exception
from armillary.consoles import handshake
from armillary.consoles.accepting import accept
from armillary.http.wsgi.tls import ReloadingContext, tls_files
from armillary.logs.line_budget import BoundedLog
from compute_agent.consoles.console_tokens import ConsoleTokens
from compute_agent.virt.driver import SerialStream
from compute_agent.virt.machine import machine
from objects.instances.serial_console import SerialConsole

LOG = logging.getLogger(__name__)
_CAUSED = BoundedLog(LOG)
"""For lines that others cause."""

PIECE_BYTES = 16 * 1024
BACKLOG = 16
REFUSED = b"the token is unknown, was used before, or is too old\n"
UNAVAILABLE = b"the console of the server cannot be opened; the server may be off\n"
"""The only message to users: errors of drivers name hosts and their files."""

OpenStream = Callable[[str, str], SerialStream]
"""Opens the console of a guest, by host and instance UUID."""


class ConsolePort:
    """A listening socket and a thread for each connection."""

    def __init__(self, conf: cfg.ConfigOpts, open_stream: OpenStream) -> None:
        self._options = conf.serial_console
        self._open_stream = open_stream
        self._tokens = ConsoleTokens()
        self._address: str = self._options.bind_host or conf.my_ip or machine.own_address()
        self._room = threading.BoundedSemaphore(self._options.connections_max)
        self._tls: ReloadingContext | None = None
        self._listener: socket.socket | None = None

    def start(self) -> None:
        """Listen. Raises ConfigurationError."""
        options = self._options
        files = tls_files(
            "serial_console",
            cert_file=options.cert_file,
            key_file=options.tls_key_file,
            ca_file=options.client_ca_file,
        )
        self._tls = None if files is None else ReloadingContext(files)
        family = socket.AF_INET6 if ":" in self._address else socket.AF_INET
        try:
            self._listener = socket.create_server(
                (self._address, options.bind_port), family=family, backlog=BACKLOG
            )
        except OSError as error:
            raise exception.ConfigurationError(
                reason=f"[serial_console] bind_host, bind_port: cannot listen on {self._address} "
                f"port {options.bind_port}: {error.strerror}"
            ) from error
        threading.Thread(target=self._accept, name="console-port", daemon=True).start()

    def stop(self) -> None:
        """Stop listening; open consoles end with the process."""
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()

    def grant(self, host: str, instance_uuid: str) -> SerialConsole:
        """Return how to reach the console of a guest, once."""
        assert self._listener is not None, "start() comes first"
        seconds = self._options.token_seconds
        port = self._listener.getsockname()[1]
        token = self._tokens.issue(host, instance_uuid, seconds)
        return SerialConsole(self._address, port, token, seconds)

    def _accept(self) -> None:
        assert self._listener is not None
        while True:
            try:
                connection, peer = accept(self._listener)
            except OSError:
                return  # stopped
            if not self._room.acquire(blocking=False):
                _CAUSED.write(
                    logging.WARNING,
                    "Refused a console connection from %s: too many are open", peer[0],
                )  # fmt: skip
                connection.close()
                continue
            threading.Thread(
                target=self._serve, args=(connection,), name="console", daemon=True
            ).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with contextlib.closing(self._secured(connection)) as secured:
                self._admit(secured)
        except (OSError, exception.ArmillaryError) as error:
            _CAUSED.write(logging.INFO, "A console connection has ended: %s", error)
        finally:
            connection.close()
            self._room.release()

    def _secured(self, connection: socket.socket) -> socket.socket:
        """Return the connection after its TLS handshake, if there is one. Raises OSError."""
        connection.settimeout(handshake.HANDSHAKE_SECONDS_MAX)
        if self._tls is None:
            return connection
        return self._tls.current().wrap_socket(connection, server_side=True)

    def _admit(self, connection: socket.socket) -> None:
        token = handshake.receive_token(connection)
        found = None if token is None else self._tokens.redeem(token)
        if found is None:
            connection.sendall(REFUSED)
            return
        host, uuid = found
        try:
            stream = self._open_stream(host, uuid)
        except exception.ArmillaryError as error:
            LOG.info("%s: its serial console cannot be opened: %s", uuid, error)
            connection.sendall(UNAVAILABLE)
            return
        LOG.info("%s: its serial console is in use", uuid)
        with contextlib.closing(stream):
            connection.sendall(handshake.ACCEPTED)
            pass_bytes(connection, stream)
        LOG.info("%s: its serial console is no longer in use", uuid)


def pass_bytes(connection: socket.socket, stream: SerialStream) -> None:
    """Pass bytes both ways until one side ends."""

    def to_user() -> None:
        with contextlib.suppress(OSError):
            while data := stream.read():
                connection.sendall(data)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    reader = threading.Thread(target=to_user, name="console-output", daemon=True)
    reader.start()
    try:
        while data := connection.recv(PIECE_BYTES):
            stream.write(data)
    finally:
        stream.close()
        reader.join()
