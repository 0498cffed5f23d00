"""The page: files of this package, and nothing else.

Every other path shows the page itself, whose scripts show the view that the path names.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import threading
from dataclasses import dataclass
from pathlib import Path

import falcon

STATIC = Path(__file__).with_name("static")
ROOT = "/ui"
ASSETS = f"{ROOT}/assets/"
INDEX = "index.html"
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
"""Only files with these endings are served."""
REVALIDATE = "no-cache"
"""Browsers ask each time whether a file has changed: an upgrade is seen at once."""
COMPRESSED_FROM_BYTES = 512
_ALREADY_COMPRESSED = frozenset({".png", ".woff2"})
_PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*").fullmatch


@dataclass(frozen=True, slots=True)
class _File:
    stamp: tuple[int, int]
    plain: bytes
    compressed: bytes | None
    etag: str
    media_type: str


class Page:
    """Serves the files below a directory; thread-safe. Their content is kept in memory."""

    def __init__(self, directory: Path = STATIC) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._files: dict[str, _File] = {}

    def __call__(self, req: falcon.Request, resp: falcon.Response, **_path: str) -> None:
        """Answer a request for a file or a view, as a sink of Falcon."""
        if req.method not in ("GET", "HEAD"):
            raise falcon.HTTPMethodNotAllowed(["GET", "HEAD"])
        path = req.env["PATH_INFO"]
        if path == ROOT:
            raise falcon.HTTPPermanentRedirect(f"{req.root_path}{ROOT}/")
        if not path.startswith(f"{ROOT}/"):
            raise falcon.HTTPNotFound
        name = path.removeprefix(f"{ROOT}/") if path.startswith(ASSETS) else INDEX
        found = self._find(name)
        if found is None:
            raise falcon.HTTPNotFound
        _send(req, resp, found)

    def _find(self, name: str) -> _File | None:
        parts = name.split("/")
        media_type = MEDIA_TYPES.get(Path(parts[-1]).suffix)
        if media_type is None or not all(map(_PART, parts)):
            return None  # among them every "..", empty part, hidden and encoded name
        path = self._directory.joinpath(*parts)
        try:
            if not path.resolve().is_relative_to(self._directory.resolve()):
                return None
            stat = path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            with self._lock:
                known = self._files.get(name)
                if known is None or known.stamp != stamp:
                    known = self._files[name] = _read(path, stamp, media_type)
                return known
        except (OSError, ValueError):
            return None


def _read(path: Path, stamp: tuple[int, int], media_type: str) -> _File:
    plain = path.read_bytes()
    is_worth_it = len(plain) >= COMPRESSED_FROM_BYTES and path.suffix not in _ALREADY_COMPRESSED
    compressed = gzip.compress(plain, mtime=0) if is_worth_it else None
    etag = hashlib.sha256(plain).hexdigest()[:32]
    return _File(stamp, plain, compressed, etag, media_type)


def _send(req: falcon.Request, resp: falcon.Response, found: _File) -> None:
    resp.etag = found.etag
    resp.set_header("Cache-Control", REVALIDATE)
    resp.set_header("Vary", "Accept-Encoding")
    if any(each in ("*", found.etag) for each in req.if_none_match or ()):
        resp.status = falcon.HTTP_304
        return
    resp.content_type = found.media_type
    accepts = (req.get_header("Accept-Encoding") or "").lower()
    if found.compressed is not None and "gzip" in accepts:
        resp.set_header("Content-Encoding", "gzip")
        resp.data = found.compressed
    else:
        resp.data = found.plain
