"""Checks of the head of a request, for what a proxy before us may read in another way."""

import re
from collections.abc import Sequence
from typing import Any

from cheroot import server as cheroot_server

from armillary.http.wsgi.connections import is_length

MALFORMED_LENGTH = "Malformed Content-Length Header."
VERSIONS = ("HTTP/1.0", "HTTP/1.1")
HEADERS_MAX = 200
"""Of a request: each takes time, and a head of the greatest length has room for 16,000."""
_SINGLE = frozenset(
    {
        b"Host", b"Origin", b"Authorization", b"X-Auth-Token", b"X-Subject-Token", b"Content-Type",
        b"Idempotency-Key", b"Content-Length",
    }
)  # fmt: skip
_CONTROL = re.compile(rb"[\0-\x08\n-\x1f\x7f]")
"""Not the tab; some of the others are stripped as blanks here, and part of a value elsewhere."""
_HEADER_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TARGET = re.compile(r"/(?!/)[!-~]*|\*")
_END = b"\r\n"
_HOST = re.compile(r"(\[[0-9A-Za-z.:%_~-]+\]|[0-9A-Za-z.%_~-]+)(:[0-9]{0,5})?")


def flaw_of_target(target: str) -> str | None:
    """Return what is wrong with the target of a request; None if nothing is.

    One with a host could name another than the header ``Host``, which is checked.
    """
    if _TARGET.fullmatch(target):
        return None
    return "The target of a request is a path, with a query or without, in printable ASCII."


def flaw_of_hosts(hosts: Sequence[str], *, version: str) -> str | None:
    """Return what is wrong with the ``Host`` headers of a request; None if nothing is."""
    if len(hosts) > 1:
        return "A request may have one Host header."
    if not hosts:
        return "A request has a Host header." if version == "HTTP/1.1" else None
    if _HOST.fullmatch(hosts[0]):
        return None
    return "The Host header is a host name or address, with a port or without."


class Headers(dict[bytes, bytes]):
    """Reject repeated headers where a proxy might use the other one, and a malformed length."""

    def __setitem__(self, name: bytes, value: bytes) -> None:
        if name in _SINGLE and name in self:
            raise ValueError(f"A request may have one {name.decode()} header.")
        if name == b"Content-Length" and not is_length(value):
            raise ValueError(MALFORMED_LENGTH)
        super().__setitem__(name, value)


class HeaderReader(cheroot_server.HeaderReader):
    """Drop headers with an underscore: applications cannot tell them from those with a hyphen."""

    def __call__(self, rfile: Any, hdict: Any = None) -> Any:
        return super().__call__(_HeadLines(rfile), hdict)

    def _allow_header(self, key_name: bytes) -> bool:
        return b"_" not in key_name


class _HeadLines:
    """Lines of a head; raise ValueError for one that a proxy may parse differently."""

    def __init__(self, head: Any) -> None:
        self._head = head
        self._count = 0

    def readline(self) -> bytes:
        line: bytes = self._head.readline()
        self._count += 1
        if self._count > HEADERS_MAX and line != _END:
            raise ValueError(f"A request may have {HEADERS_MAX} headers.")
        name, colon, _ = line.partition(b":")
        if line[:1] in (b" ", b"\t"):
            raise ValueError("A header may not be folded into several lines.")
        if colon and not _HEADER_NAME.fullmatch(name):
            raise ValueError("A header has a malformed name.")
        if _CONTROL.search(line.removesuffix(b"\r\n")):
            raise ValueError("A header contains a control character.")
        return line
