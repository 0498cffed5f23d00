"""Data of a streamed HTTP response, as it comes: how clients of image services read images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import requests

PIECE_BYTES = 64 * 1024


def pieces(answer: requests.Response, start: int) -> Iterator[bytes]:
    """Yield the data from a byte on, each piece when it comes, up to ``PIECE_BYTES``.

    The server may have ignored the range and send all of it. Raises requests.RequestException, also
    if the data ends early or begins elsewhere.
    """
    import requests  # on demand: most processes fetch nothing

    is_part = answer.status_code == requests.codes.partial_content
    if is_part and not answer.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
        raise requests.exceptions.ContentDecodingError("the answer is not the part asked for")
    unwanted = 0 if is_part else start
    while piece := _next(answer):
        new = piece[unwanted:]
        unwanted -= len(piece) - len(new)
        if new:
            yield new


def _next(answer: requests.Response) -> bytes:
    import requests
    from urllib3.exceptions import HTTPError, ReadTimeoutError

    try:
        data: bytes = answer.raw.read1(PIECE_BYTES)
    except ReadTimeoutError as error:
        raise requests.exceptions.ReadTimeout(error) from error
    except HTTPError as error:
        raise requests.exceptions.ChunkedEncodingError(error) from error
    return data


def retry_after_seconds(headers: Mapping[str, str]) -> float:
    """Return how long a server asks clients to wait; 0 if it does not say, or names a date."""
    value = headers.get("Retry-After", "")
    return float(value) if value.isascii() and value.isdecimal() else 0.0
