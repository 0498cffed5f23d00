"""HTTPS for our HTTP servers: which files, and a handshake that keeps nobody else waiting."""

from __future__ import annotations

import logging
import os
import socket
import ssl
from dataclasses import dataclass
from typing import Any

from cheroot.makefile import StreamReader, StreamWriter
from cheroot.ssl import Adapter

from armillary import exception

LOG = logging.getLogger(__name__)

HANDSHAKE_SECONDS_MAX = 10.0
_ENVIRONMENT = {"wsgi.url_scheme": "https", "HTTPS": "on"}
_PLAIN_HTTP = "HTTP_REQUEST"
_NOT_HTTPS = b"This port speaks HTTPS only: begin the address with https://\n"
_REFUSAL = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_NOT_HTTPS), _NOT_HTTPS)
)


@dataclass(frozen=True)
class TlsFiles:
    """What a server shows, and whose clients it lets in; PEM files each."""

    cert_file: str
    """Its certificate, and those between it and the authority."""
    key_file: str | None = None
    """Its private key; None: it is in ``cert_file``."""
    ca_file: str | None = None
    """Authorities that must have signed a client's certificate; None: clients need none."""

    def context(self) -> ssl.SSLContext:
        """Return what to serve with: TLS 1.2 at least.

        Raises ConfigurationError for a file that is missing or holds something else.
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


def tls_files(
    section: str, *, cert_file: str | None, key_file: str | None, ca_file: str | None
) -> TlsFiles | None:
    """Return what the options of a section name, None for plain HTTP.

    Raises ConfigurationError when there is a key or an authority and no certificate to show.
    """
    if cert_file:
        return TlsFiles(cert_file, key_file or None, ca_file or None)
    if key_file or ca_file:
        raise exception.ConfigurationError(
            reason=f"[{section}] has a key or client authorities for TLS, and no certificate: "
            "set the option for the certificate, too, or none of them"
        )
    return None


class TlsAdapter(Adapter):
    """cheroot's view of TLS; who works on the connection shakes hands, not who accepts it."""

    def __init__(self, files: TlsFiles) -> None:
        super().__init__(files.cert_file, files.key_file)
        self.context = files.context()

    def bind(self, sock: socket.socket) -> socket.socket:
        return sock

    def wrap(self, sock: socket.socket) -> tuple[ssl.SSLSocket, dict[str, Any]]:
        wrapped = self.context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        return wrapped, dict(_ENVIRONMENT)

    def get_environ(self) -> dict[str, Any]:
        return dict(_ENVIRONMENT)

    def makefile(self, sock: Any, mode: str = "r", bufsize: int = -1) -> Any:
        return (StreamReader if "r" in mode else StreamWriter)(sock, mode, bufsize)


def shakes_hands(connection: Any) -> bool:
    """Do the handshake of a new connection; return False when it fails, and is to be closed.

    Who speaks plain HTTP is told so.
    """
    try:
        connection.settimeout(HANDSHAKE_SECONDS_MAX)
        connection.do_handshake()
    except ssl.SSLError as error:
        LOG.info("A TLS handshake failed: %s", error.reason or error)
        if error.reason == _PLAIN_HTTP:
            _tell_in_plain_words(connection)
    except OSError as error:
        LOG.debug("A connection broke during its TLS handshake: %s", error)
    else:
        return True
    return False


def _tell_in_plain_words(connection: ssl.SSLSocket) -> None:
    with socket.socket(fileno=os.dup(connection.fileno())) as plain:  # its owner closes it, too
        plain.settimeout(HANDSHAKE_SECONDS_MAX)
        try:
            plain.sendall(_REFUSAL)
            plain.shutdown(socket.SHUT_WR)
        except OSError as error:
            LOG.debug("A client that spoke plain HTTP was gone: %s", error)


def _unusable(what: str, error: Exception) -> exception.ConfigurationError:
    reason = getattr(error, "strerror", None) or str(error)
    return exception.ConfigurationError(
        reason=f"TLS: {what} cannot be used: {reason}; PEM files that this service may read, and "
        "a key that fits its certificate, are expected"
    )
