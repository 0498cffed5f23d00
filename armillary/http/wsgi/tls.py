"""HTTPS for the HTTP servers: certificate reload and non-blocking handshakes."""

import logging
import os
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from wsgiref.types import WSGIEnvironment

from cheroot.errors import FatalSSLAlert
from cheroot.makefile import StreamReader, StreamWriter
from cheroot.ssl import Adapter

from armillary import exception
from armillary.logs.line_budget import BoundedLog

LOG = logging.getLogger(__name__)
_CAUSED = BoundedLog(LOG)
"""For lines that others cause."""

_REFUSAL_SECONDS_MAX = 1.0
_LOOK_SECONDS = 1.0
_ENVIRONMENT = {"wsgi.url_scheme": "https", "HTTPS": "on"}
_PLAIN_HTTP = "HTTP_REQUEST"
_NOT_HTTPS = b"This port speaks HTTPS only: begin the address with https://\n"
_REFUSAL = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_NOT_HTTPS), _NOT_HTTPS)
)


Stamp = tuple[tuple[int, ...] | None, ...]


@dataclass(frozen=True)
class TlsFiles:
    """Paths of the server's TLS files, all PEM."""

    cert_file: str
    """The server's certificate and intermediate certificates."""
    key_file: str | None = None
    """Its private key; None: the key is in ``cert_file``."""
    ca_file: str | None = None
    """Authorities that must have signed client certificates; None: clients need none."""

    def context(self) -> ssl.SSLContext:
        """Return the server's SSL context: TLS 1.2 at least.

        Raises ConfigurationError for a missing or invalid file.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.cert_file, self.key_file)
        except (OSError, ssl.SSLError) as error:
            files = ", ".join(filter(None, (self.cert_file, self.key_file)))
            raise _unusable(f"the certificate and its key in {files}", error) from error
        if self.ca_file:
            try:
                context.load_verify_locations(self.ca_file)
            except (OSError, ssl.SSLError) as error:
                raise _unusable(f"the authorities in {self.ca_file}", error) from error
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def stamp(self) -> Stamp:
        """Return a value that changes when one of the files is written or replaced."""
        named = (self.cert_file, self.key_file, self.ca_file)
        return tuple(_stamp(path) for path in named if path)


def tls_files(
    section: str, *, cert_file: str | None, key_file: str | None, ca_file: str | None
) -> TlsFiles | None:
    """Return the TLS files that a section's options name, None for plain HTTP.

    Raises ConfigurationError for a key or authorities without a certificate.
    """
    if cert_file:
        return TlsFiles(cert_file, key_file or None, ca_file or None)
    if key_file or ca_file:
        raise exception.ConfigurationError(
            reason=f"[{section}] has a key or client authorities for TLS, but no certificate; set "
            "the option for the certificate, too, or none of them"
        )
    return None


class ReloadingContext:
    """SSL context of files that are checked for changes at most once a second. Single-threaded.

    If files become invalid or missing, the previous context stays in use. This is logged unless the
    next check succeeds, as it does when a certificate and its key are replaced one after the other.
    """

    def __init__(self, files: TlsFiles, clock: Callable[[], float] = time.monotonic) -> None:
        """Read the files. Raises ConfigurationError, as ``TlsFiles.context`` does."""
        self._files = files
        self._clock = clock
        self._seen = files.stamp()
        self._doubted: Stamp | None = None
        self._context = files.context()
        self._looked_at = clock()

    def current(self) -> ssl.SSLContext:
        """Return the context for a new connection; existing connections keep theirs."""
        if self._clock() - self._looked_at >= _LOOK_SECONDS:
            self._look()
        return self._context

    def _look(self) -> None:
        self._looked_at = self._clock()
        stamp = self._files.stamp()
        if stamp == self._seen:
            return
        try:
            self._context = self._files.context()
        except exception.ConfigurationError as error:
            self._refuse(stamp, error)
        else:
            self._seen = stamp
            LOG.info("TLS: reloaded the certificate in %s", self._files.cert_file)

    def _refuse(self, stamp: Stamp, error: exception.ConfigurationError) -> None:
        if stamp == self._doubted:
            self._seen = stamp
            LOG.warning("The previous certificate stays in use: %s", error.kwargs["reason"])
        self._doubted = stamp


class TlsAdapter(Adapter):
    """cheroot's TLS adapter; the handshake is left to the connection."""

    def __init__(self, files: TlsFiles, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(files.cert_file, files.key_file)
        self._renewed = ReloadingContext(files, clock)

    def bind(self, sock: socket.socket) -> socket.socket:
        return sock

    def wrap(self, sock: socket.socket) -> tuple[ssl.SSLSocket, WSGIEnvironment]:
        context = self._renewed.current()
        try:
            wrapped = context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        except OSError as error:  # the client has left already; cheroot logs a line
            raise FatalSSLAlert(str(error)) from error
        return wrapped, dict(_ENVIRONMENT)

    def get_environ(self) -> WSGIEnvironment:
        return dict(_ENVIRONMENT)

    def makefile(self, sock: Any, mode: str = "r", bufsize: int = -1) -> Any:
        return (StreamReader if "r" in mode else StreamWriter)(sock, mode, bufsize)


class NeedsMore(Exception):
    """The handshake needs more from the client before it can continue."""


def continue_handshake(connection: Any) -> bool:
    """Continue the handshake of a non-blocking connection; return False if it failed.

    A client that speaks plain HTTP gets a plain-text error. Raises NeedsMore.
    """
    try:
        connection.do_handshake()
    except (ssl.SSLWantReadError, ssl.SSLWantWriteError) as error:
        raise NeedsMore from error
    except ssl.SSLError as error:
        _CAUSED.write(logging.INFO, "A TLS handshake failed: %s", error.reason or error)
        if error.reason == _PLAIN_HTTP:
            _reply_in_plain_http(connection)
    except OSError as error:
        LOG.debug("A connection broke during its TLS handshake: %s", error)
    else:
        return True
    return False


def _reply_in_plain_http(connection: ssl.SSLSocket) -> None:
    with socket.socket(fileno=os.dup(connection.fileno())) as plain:  # its owner also closes it
        plain.settimeout(_REFUSAL_SECONDS_MAX)
        try:
            plain.sendall(_REFUSAL)
            plain.shutdown(socket.SHUT_WR)
        except OSError as error:
            LOG.debug("A client that spoke plain HTTP disconnected: %s", error)


def _stamp(path: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - no path object for each connection
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_dev, found.st_size


def _unusable(what: str, error: Exception) -> exception.ConfigurationError:
    reason = getattr(error, "strerror", None) or str(error)
    return exception.ConfigurationError(
        reason=f"TLS: {what} cannot be used: {reason}; expected PEM files that this service may "
        "read, and a key that matches its certificate"
    )
