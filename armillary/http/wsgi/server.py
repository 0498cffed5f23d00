"""HTTP server for a WSGI application, with bounded concurrency and graceful shutdown."""

import contextlib
import dataclasses
import functools
import ipaddress
import logging
import resource
import socket
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from cheroot import server as cheroot_server
from cheroot import wsgi

from armillary import exception
from armillary.http import own_origin
from armillary.http.wsgi import request_head
from armillary.http.wsgi.chunked_body import ChunkedBody
from armillary.http.wsgi.client_gone import CLIENT_IS_GONE, is_closed_by_peer
from armillary.http.wsgi.connections import BodyRoom, Limits, PatientConnection, crowded_out
from armillary.http.wsgi.slow_readers import Sender
from armillary.http.wsgi.tls import TlsAdapter, TlsFiles

LOG = logging.getLogger(__name__)

BACKLOG_MAX = 1024
IDLE_SECONDS_MAX = 60
START_SECONDS_MAX = 60.0
DRAIN_SECONDS_MAX = 86400  # the service bounds it by graceful_shutdown_timeout
POLL_SECONDS = 0.01
STOP_DELAY_SECONDS = 0.1  # how often cheroot checks whether to stop

# cheroot's own answers, in the wording that clients of these APIs expect.
_WORDS = {request_head.MALFORMED_LENGTH: "content-length header must be an integer"}
_HEAD = b"HEAD"

Refusal = Callable[[int, str], tuple[dict[str, str], bytes]]
"""Takes status and reason; returns headers and body of an answer made without the application."""


def is_loopback(host: str) -> bool:
    """Return whether ``host`` is a loopback address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Request(cheroot_server.HTTPRequest):
    """Close the connection after a chunked or very long body, which may not have been read whole.

    Requests rejected before they reach the application are answered by ``refusal``.
    """

    header_reader = request_head.HeaderReader()

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.inheaders = request_head.Headers()

    def read_request_line(self) -> bool:
        """Refuse a version that may be understood as another, and a target that names a host."""
        try:
            is_read = super().read_request_line()  # type: ignore[no-untyped-call]
        except ValueError:  # of half an address
            return self._passes("Malformed Request-URI")
        if not is_read:
            return False
        flaw = request_head.flaw_of_target(self.uri.decode("latin-1"))
        if self.request_protocol.decode("latin-1") not in request_head.VERSIONS:
            flaw = "Malformed Request-Line: bad version"
        return self._passes(flaw)

    def read_request_headers(self) -> bool:
        """Refuse an unclear ``Host``, and a body whose end a proxy may see elsewhere."""
        if not super().read_request_headers():  # type: ignore[no-untyped-call]
            return False
        hosts = [self.inheaders[b"Host"].decode("latin-1")] if b"Host" in self.inheaders else []
        flaw = request_head.flaw_of_hosts(hosts, version=self.response_protocol)
        return self._passes(flaw or self._flaw_of_length())

    def _flaw_of_length(self) -> str | None:
        encoding = self.inheaders.get(b"Transfer-Encoding")
        if encoding is None:
            return None
        is_clear = encoding.lower() == b"chunked" and b"Content-Length" not in self.inheaders
        if is_clear and self.response_protocol == "HTTP/1.1":
            return None
        return "A body has a Content-Length or, in HTTP/1.1, the Transfer-Encoding chunked."

    def _passes(self, flaw: str | None) -> bool:
        if flaw is not None:
            self.simple_response("400 Bad Request", flaw)
        return flaw is None

    def respond(self) -> None:
        length = int(self.inheaders.get(b"Content-Length") or 0)
        if self.chunked_read or length > self.server.limits.body_bytes_max:
            self.close_connection = True
        super().respond()

    def simple_response(self, status: str, msg: str = "") -> None:
        words = _WORDS.get(msg, msg)
        if self.server.refusal is None:
            super().simple_response(status, words)
            return
        number = int(status[:3])
        headers, body = self.server.refusal(number, words or HTTPStatus(number).description)
        headers |= {"Content-Length": str(len(body)), "Connection": "close"}
        lines = [f"{self.server.protocol} {status}", *map(": ".join, headers.items())]
        self.close_connection = True
        shown = b"" if getattr(self, "method", None) == _HEAD else body
        with contextlib.suppress(OSError):
            self.conn.wfile.write("\r\n".join([*lines, "", ""]).encode("latin-1") + shown)


class _Connection(PatientConnection):
    RequestHandlerClass = _Request


class _Gateway(wsgi.Gateway_10):
    """Tell the application the local address of the connection as the server's.

    Chunks are read in pieces: cheroot would keep a whole one in memory. The answer to HEAD has no
    body, whatever middleware returns: clients and proxies would take it for the next answer.
    """

    def write(self, chunk: bytes) -> None:
        if self.req.method != _HEAD:
            super().write(chunk)

    def get_environ(self) -> Any:
        environ = super().get_environ()  # type: ignore[no-untyped-call]
        name, port = self.req.conn.socket.getsockname()[:2]
        address = ipaddress.ip_address(name.partition("%")[0])  # without an interface's scope
        mapped = getattr(address, "ipv4_mapped", None)  # of an IPv4 client, on ::
        if self.req.chunked_read:
            environ["wsgi.input"] = ChunkedBody(self.req.conn.rfile)
        environ |= {"SERVER_NAME": str(mapped or address), "SERVER_PORT": str(port)}
        environ[CLIENT_IS_GONE] = functools.partial(is_closed_by_peer, self.req.conn.socket)
        environ[own_origin.LOCAL] = own_origin.own_origin(environ)
        return environ


class _Server(wsgi.Server):
    """cheroot's server with our limits, and its errors in our log."""

    ConnectionClass = _Connection
    expiration_interval = STOP_DELAY_SECONDS
    refusal: Refusal | None = None

    def __init__(self, *args: Any, limits: Limits, **more: Any) -> None:
        super().__init__(*args, **more)
        self.limits = limits
        self.max_request_header_size = limits.head_bytes_max
        self.keep_alive_conn_limit = limits.connections_max
        self.room = BodyRoom(limits.bodies_bytes_max)
        self.sender = Sender(self, limits)

    def process_conn(self, conn: PatientConnection) -> None:
        """Queue a connection for a worker. Called for new ones by the selecting thread only."""
        if conn.is_new:
            conn.is_new = False
            self._make_room()
        super().process_conn(conn)

    def put_conn(self, conn: PatientConnection) -> None:
        """Wait for more of a connection, or send the rest of its answer first."""
        if conn.outgoing.unsent:
            self.sender.take(conn, stays=True)
        else:
            super().put_conn(conn)

    def _make_room(self) -> None:
        selector = self._connections._selector  # type: ignore[attr-defined]
        waiting = {conn: fd for fd, conn in list(selector.connections) if conn is not self}
        victim = crowded_out(list(waiting), self.limits)
        if victim is not None:
            selector.unregister(waiting[victim])
            victim.close()

    @staticmethod
    def bind_socket(sock: socket.socket, bind_addr: Any) -> socket.socket:
        try:
            sock.bind(bind_addr)
        except OSError:
            sock.close()  # cheroot omits it
            raise
        return sock

    def error_log(self, msg: str = "", level: int = logging.INFO, traceback: bool = False) -> None:
        LOG.log(level, "HTTP server: %s", msg, exc_info=traceback)


class HttpServer:
    """Serve ``app`` on ``host`` and ``port``, ``threads`` requests at a time; others wait.

    Works with threads and in a process that eventlet patched. Port 0 takes a free port; ``address``
    returns it. Several processes may serve one port with ``reuse_port``: the kernel spreads the
    connections among them. A server starts once and stops once. The application must limit body
    sizes itself: an answer with status 413 closes the connection; after any other answer the rest
    of the body is read. Malformed requests are answered by ``refusal``, or in plain text. With
    ``tls`` it serves HTTPS only, and checks by ``clock`` (seconds) whether the TLS files have
    changed; raises ConfigurationError if they are invalid. ``limits`` keep slow clients from using
    up threads and memory.
    """

    def __init__(
        self,
        app: Callable[..., Any],
        *,
        host: str,
        port: int,
        threads: int,
        reuse_port: bool = False,
        refusal: Refusal | None = None,
        tls: TlsFiles | None = None,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        limits = _that_files_allow(limits or Limits())
        self._server = _Server(
            (host, port),
            app,
            numthreads=threads,
            max=threads,
            server_name="armillary",
            request_queue_size=BACKLOG_MAX,
            timeout=IDLE_SECONDS_MAX,
            shutdown_timeout=DRAIN_SECONDS_MAX,
            accepted_queue_size=limits.connections_max,
            reuse_port=reuse_port,
            limits=limits,
        )
        self._server.refusal = refusal
        self._server.gateway = _Gateway
        if tls is not None:
            self._server.ssl_adapter = TlsAdapter(tls, clock)
        self._wanted = (host, port)
        self._bound: tuple[str, int] | None = None
        self._failure: BaseException | None = None
        self._is_decided = threading.Event()
        self._thread = threading.Thread(target=self._serve, name=f"http-{port}", daemon=True)
        self._stopper = threading.Thread(
            target=self._server.stop, name=f"http-{port}-stop", daemon=True
        )

    @property
    def address(self) -> tuple[str, int]:
        """The address listened on; known once ``start`` has returned."""
        if self._bound is None:
            raise RuntimeError("an HTTP server has no address before it is started")
        return self._bound

    def start(self) -> None:
        """Listen, then return; requests are served from now on.

        Raises ``ConfigurationError`` when it cannot listen: the port is in use, the address is not
        local, or the shared port is not specified.
        """
        if self._server.reuse_port and not self._wanted[1]:
            raise exception.ConfigurationError(
                reason=(
                    "port 0 takes a free port for one process; several processes need a fixed "
                    "port to share"
                )
            )
        self._thread.start()
        if not self._is_decided.wait(START_SECONDS_MAX):
            raise RuntimeError(f"the HTTP server did not start in {START_SECONDS_MAX:.0f} s")
        if isinstance(self._failure, OSError):
            host, port = self._wanted
            raise exception.ConfigurationError(
                reason=f"cannot listen on {host} port {port}: {self._failure}"
            ) from self._failure
        if self._failure is not None:
            raise self._failure
        kind = "HTTP" if self._server.ssl_adapter is None else "HTTPS"
        LOG.info("Listening on %s port %d (%s)", *self.address, kind)

    def stop(self) -> None:
        """Stop accepting requests; return when the socket is closed. Idempotent."""
        if self._bound is None or self._stopper.ident is not None:
            return
        self._stopper.start()
        while self._server.socket is not None:
            time.sleep(POLL_SECONDS)

    def wait(self) -> None:
        """Return when the server was stopped and the requests in progress are answered."""
        self._thread.join()
        if self._stopper.ident is not None:
            self._stopper.join()
        self._server.sender.stop()

    def _serve(self) -> None:
        # Prepared here and not in start(): worker threads inherit this thread's daemon flag, so a
        # request that hangs cannot keep the process alive.
        try:
            self._server.prepare()
            self._bound = self._server.socket.getsockname()[:2]
        except BaseException as error:  # start() raises it in its caller's thread
            self._failure = error
            return
        finally:
            self._is_decided.set()
        self._server.sender.start()
        self._server.serve()


def _that_files_allow(limits: Limits) -> Limits:
    """Return limits that leave half of the process's file descriptors to all else."""
    files_max, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = files_max // 2 if files_max > 0 else limits.connections_max
    return dataclasses.replace(
        limits,
        connections_max=min(limits.connections_max, allowed),
        connections_per_address_max=min(limits.connections_per_address_max, allowed),
    )
