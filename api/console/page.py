"""The page: files of this package, and nothing else.

Every other path shows the page itself, whose scripts show the view that the path names. The page
names its files below a folder of their version, so that browsers need not ask for them again.
"""

import functools
import gzip
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import falcon

from api.formats.compression import VARIES, accepts_gzip

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
"""Browsers ask each time whether the page has changed: an upgrade is seen immediately."""
FOR_GOOD = "public, max-age=31536000, immutable"
"""Of a file below the folder of its version, which a change gives another name."""
COMPRESSED_FROM_BYTES = 512
_ALREADY_COMPRESSED = frozenset({".png", ".woff2"})
_PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*").fullmatch
_VERSIONED = re.compile(r"assets/v-([0-9a-f]{16})/(.+)").fullmatch


@dataclass(frozen=True, slots=True)
class _File:
    plain: bytes
    compressed: bytes | None
    etag: str
    media_type: str


class Page:
    """Serves the files below a directory, as they are when this is made."""

    def __init__(self, directory: Path = STATIC) -> None:
        self._version, self._files = _read_all(directory)

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
        version = None
        if versioned := _VERSIONED(
            name
        ):  # a page that was open during an upgrade names the old one
            version, name = versioned[1], f"assets/{versioned[2]}"
        found = self._files.get(name)
        if found is None:
            raise falcon.HTTPNotFound
        _send(req, resp, found, FOR_GOOD if version == self._version else REVALIDATE)


@functools.cache  # one process may serve it several times
def _read_all(directory: Path) -> tuple[str, Mapping[str, _File]]:
    """Return the version of the files below a directory, and the files by their paths."""
    contents = dict(_contents(directory))
    digest = hashlib.sha256()
    for name in sorted(contents):
        digest.update(f"{name} {len(contents[name])} ".encode() + contents[name])
    version = digest.hexdigest()[:16]
    if INDEX in contents:
        below = f'"{ASSETS}'.encode()
        contents[INDEX] = contents[INDEX].replace(below, below + f"v-{version}/".encode())
    return version, {name: _file(name, content) for name, content in contents.items()}


def _contents(directory: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file that may be served, none that a link has elsewhere."""
    for path in directory.rglob("*"):
        name = path.relative_to(directory)
        is_within = path.resolve().is_relative_to(directory.resolve())
        is_known = path.suffix in MEDIA_TYPES and all(map(_PART, name.parts))
        if is_within and is_known and path.is_file():
            yield name.as_posix(), path.read_bytes()


def _file(name: str, plain: bytes) -> _File:
    suffix = Path(name).suffix
    is_worth_it = len(plain) >= COMPRESSED_FROM_BYTES and suffix not in _ALREADY_COMPRESSED
    compressed = gzip.compress(plain, mtime=0) if is_worth_it else None
    etag = hashlib.sha256(plain).hexdigest()[:32]
    return _File(plain, compressed, etag, MEDIA_TYPES[suffix])


def _send(req: falcon.Request, resp: falcon.Response, found: _File, cached: str) -> None:
    resp.etag = found.etag
    resp.set_header("Cache-Control", cached)
    resp.set_headers(VARIES)
    if any(each in ("*", found.etag) for each in req.if_none_match or ()):
        resp.status = falcon.HTTP_304
        return
    resp.content_type = found.media_type
    takes_gzip = accepts_gzip(req.get_header("Accept-Encoding"))
    if found.compressed is not None and takes_gzip:
        resp.set_header("Content-Encoding", "gzip")
        resp.data = found.compressed
    else:
        resp.data = found.plain
