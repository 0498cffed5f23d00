"""HTTP client of the Armillary API for the command line: one response, or one clear error."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from armillary import exception
from armillary.backoff import Backoff
from programs.access.connections import (
    CONNECT_TIMEOUT_SECONDS,
    pool,
    tls_error,
    trusting,
    why_unreachable,
)
from programs.access.errors import (
    ApiBusy,
    ApiConnectionLost,
    ApiNotFound,
    ApiRefused,
    ApiTimeout,
    ApiUnauthorized,
    ApiUnavailable,
    ApiUnreachable,
    NotAnArmillaryApi,
    ProxyFailed,
)

if TYPE_CHECKING:  # they take longer to load than commands that do not call the API
    import urllib3

LOG = logging.getLogger(__name__)

DEFAULT_URL = "http://127.0.0.1:8774"
DEFAULT_TIMEOUT_SECONDS = 60.0
MESSAGE_CHARACTERS_MAX = 2000
STREAM_BYTES = 512
"""Bytes of a stream that are read at a time, unless it sends smaller chunks."""

VERSION_PATH = "v2.1"
TOKEN_HEADER = "X-Auth-Token"  # noqa: S105 - the name of the header
VERSION_HEADERS = {"OpenStack-API-Version": "compute 2.96", "X-Armillary-Fields": "1"}
"""Version of the API that the commands use, with Armillary's own fields."""
IDEMPOTENCY_HEADER = "Idempotency-Key"
POST_RETRIES_MAX = 3
POST_BACKOFF = Backoff(1.0, 4.0)
REQUEST_ID_HEADERS = ("x-openstack-request-id", "x-compute-request-id")

Document = dict[str, Any]


_TRANSIENT = (ApiUnavailable, ApiConnectionLost, ApiBusy)
"""Errors after which an idempotent request is retried."""


@dataclasses.dataclass(frozen=True)
class Target:
    """An API: the prefix of its paths, and the headers with its version."""

    prefix: str
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)


COMPUTE = Target(VERSION_PATH, VERSION_HEADERS)


class ApiClient:
    """Client of one API with one token. Not thread-safe.

    Paths are given as segments below the prefix of ``target``. ``cacert`` is a PEM file with the
    authorities trusted for the API's certificate; default: those of the system. Raises the errors
    of ``access.errors``, and ``exception.Invalid`` for an invalid address or a ``cacert`` without
    authorities.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        token: str | None = None,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        *,
        cacert: str | None = None,
        backoff: Backoff = POST_BACKOFF,
        target: Target = COMPUTE,
    ) -> None:
        self._prefix = (target.prefix,) if target.prefix else ()
        self.url = _checked_url(url)
        self._timeout_seconds = timeout_seconds
        self._backoff = backoff
        self._headers = {"Accept": "application/json", **target.headers}
        if token:
            self._headers[TOKEN_HEADER] = _checked_token(token)
        self._pool = pool(self.url, trusting(cacert) if cacert else None)

    def get(self, *path: str, query: Mapping[str, Any] | None = None) -> Document:
        return self._request("GET", path, query=query)

    def post(self, *path: str, body: Mapping[str, Any]) -> Document:
        """Send a JSON object; return the response's, empty if it has none.

        The request is retried when the API, or a service behind it, fails meanwhile. All retries
        have the same idempotency key, so the API executes the request once.
        """
        import uuid

        headers = {IDEMPOTENCY_HEADER: str(uuid.uuid4())}
        transient: tuple[type[exception.ArmillaryError], ...] = _TRANSIENT
        for retry in range(POST_RETRIES_MAX):
            try:
                return self._request("POST", path, body=body, headers=headers)
            except transient as error:
                transient = (*_TRANSIENT, ApiUnreachable)  # it is restarting
                seconds = self._backoff.seconds(retry)
                LOG.info("%s; retrying in %.1f s", error, seconds)
                time.sleep(seconds)
        return self._request("POST", path, body=body, headers=headers)

    def put(self, *path: str, body: Mapping[str, Any] | None) -> Document:
        return self._request("PUT", path, body=body)

    def upload(self, *path: str, data: BinaryIO) -> None:
        """Send a file as it is, which may take as long as it does."""
        self._answer(self._send("PUT", path, data=data))

    def delete(self, *path: str, query: Mapping[str, Any] | None = None) -> None:
        self._request("DELETE", path, query=query)

    def list_all(
        self,
        key: str,
        *path: str,
        query: Mapping[str, Any] | None = None,
        on_page: Callable[[Document], None] = lambda answer: None,
    ) -> Iterator[Document]:
        """Yield all items of a list, page by page; ``key`` is the list's name in the response.

        ``on_page`` is called with each whole response, for data next to the list.
        """
        while True:
            answer = self.get(*path, query=query)
            on_page(answer)
            yield from answer.get(key, [])
            query = _next_page(answer.get(f"{key}_links", []))
            if query is None:
                return

    def stream(
        self, *path: str, query: Mapping[str, Any] | None = None, silence: float
    ) -> Iterator[str]:
        """Yield the lines of an endless response.

        Raises ``ApiTimeout`` if nothing arrives for ``silence`` seconds, or the connection breaks.
        """
        from urllib3.exceptions import HTTPError

        response = self._send("GET", path, query=query, silence=silence)
        with contextlib.closing(response):
            if response.status >= 300:
                self._answer(response)
            try:
                yield from _lines(response.stream(STREAM_BYTES))
            except HTTPError as error:
                route = "/".join([*self._prefix, *path])
                reason = "the connection broke"
                raise ApiTimeout(url=self.url, method="GET", path=route, reason=reason) from error

    def close(self) -> None:
        self._pool.clear()

    def _request(
        self,
        method: str,
        path: tuple[str, ...],
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Document:
        return self._answer(self._send(method, path, query=query, body=body, headers=headers))

    def _send(
        self,
        method: str,
        path: tuple[str, ...],
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        data: BinaryIO | None = None,
        silence: float | None = None,
    ) -> urllib3.BaseHTTPResponse:
        """Return the response; of a stream only its start, with ``silence`` as its timeout.

        What is sent is the JSON ``body``, or ``data``.
        """
        from urllib3 import Timeout, exceptions

        timeout_seconds = self._timeout_seconds if silence is None else silence
        route = "/".join([*self._prefix, *(_segment(part) for part in path)])
        given = {name: value for name, value in (query or {}).items() if value is not None}
        what = f"{route}?{urlencode(given, doseq=True)}" if given else route
        sent = {**self._headers, **(headers or {})}
        if body is not None:
            sent["Content-Type"] = "application/json"
        if data is not None:
            sent["Content-Type"] = "application/octet-stream"
            sent["Content-Length"] = str(os.fstat(data.fileno()).st_size)
        started = time.monotonic()
        try:
            response = self._pool.urlopen(
                method,
                f"{self.url}/{what}",
                body=data if body is None else json.dumps(body).encode(),
                headers=sent,
                timeout=Timeout(connect=CONNECT_TIMEOUT_SECONDS, read=timeout_seconds),
                preload_content=silence is None,
                retries=False,
                redirect=False,  # it would send the token to the redirect's target
            )
        except exceptions.SSLError as error:
            raise tls_error(self.url, error) from error
        except (exceptions.NewConnectionError, exceptions.ConnectTimeoutError) as error:
            raise ApiUnreachable(url=self.url, reason=why_unreachable(error)) from error
        except exceptions.ReadTimeoutError as error:
            reason = f"no response within {timeout_seconds:g} s"
            raise ApiTimeout(url=self.url, method=method, path=route, reason=reason) from error
        except exceptions.ProxyError as error:
            raise ProxyFailed(url=self.url, reason=error.original_error) from error
        except exceptions.ProtocolError as error:
            reason = "the connection broke"
            raise ApiConnectionLost(
                url=self.url, method=method, path=route, reason=reason
            ) from error
        except exceptions.HTTPError as error:
            raise NotAnArmillaryApi(url=self.url, reason=str(error)) from error
        seconds = time.monotonic() - started
        LOG.debug("%s %s/%s: HTTP %s in %.3f s", method, self.url, what, response.status, seconds)
        return response

    def _answer(self, response: urllib3.BaseHTTPResponse) -> Document:
        if response.status >= 400:
            raise _refusal(response)
        if response.status >= 300:
            where = response.headers.get("Location", "elsewhere")
            raise NotAnArmillaryApi(url=self.url, reason=f"it redirects to {where}")
        if not response.data:
            return {}
        document = _parsed(response)
        if document is None:
            raise NotAnArmillaryApi(url=self.url, reason="the response is not a JSON object")
        return document


def _refusal(response: urllib3.BaseHTTPResponse) -> ApiRefused:
    kind = ApiRefused
    if response.status == 401:
        kind = ApiUnauthorized
    elif response.status == 404:
        kind = ApiNotFound
    elif response.status in (502, 503, 504):
        kind = ApiUnavailable
    elif response.status == 409 and "Retry-After" in response.headers:
        kind = ApiBusy
    return kind(
        status=response.status,
        reason=_reason(response).strip()[:MESSAGE_CHARACTERS_MAX],
        request_id=_request_id(response),
    )


def _reason(response: urllib3.BaseHTTPResponse) -> str:
    """Return the message of an error in the Compute API's format, or a substitute."""
    for value in (_parsed(response) or {}).values():
        if isinstance(value, dict) and isinstance(value.get("message"), str):
            return str(value["message"])
        if isinstance(value, list) and value and isinstance(value[0], dict):  # as placement's
            return str(value[0].get("detail", response.reason))
    return str(response.reason or "No reason was given.")


def _request_id(response: urllib3.BaseHTTPResponse) -> str:
    for name in REQUEST_ID_HEADERS:
        if name in response.headers:
            return str(response.headers[name])
    return "unknown"


def _parsed(response: urllib3.BaseHTTPResponse) -> Document | None:
    try:
        document = json.loads(response.data)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _next_page(links: list[dict[str, str]]) -> dict[str, list[str]] | None:
    """Return the parameters of the next page; the link's host is ignored."""
    for link in links:
        if link.get("rel") == "next":
            return parse_qs(urlsplit(link["href"]).query, keep_blank_values=True)
    return None


def _segment(part: str) -> str:
    if part in ("", ".", ".."):  # these would address another path
        raise exception.NotFound(what=f"'{part}'")
    return quote(part, safe="")


def _checked_url(url: str) -> str:
    url = url.strip().rstrip("/").removesuffix(f"/{VERSION_PATH}")
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_usable = is_usable and parts.port != 0 and not (parts.query or parts.fragment)
    except ValueError:
        is_usable = False
    if is_usable and parts.username is not None:
        raise exception.Invalid("The API's address must not contain a user name: use a token.")
    if not is_usable:
        raise exception.Invalid(
            f"The API's address '{url}' is not an HTTP address such as {DEFAULT_URL}."
        )
    return url


def _checked_token(token: str) -> str:
    if not (token.isascii() and token.isprintable() and token == token.strip()):
        raise exception.Invalid("The token contains characters that are not allowed in a header.")
    return token


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield the lines of a stream as soon as each is complete."""
    pending = b""
    for chunk in chunks:
        *lines, pending = (pending + chunk).split(b"\n")
        yield from (line.decode("utf-8", "replace").rstrip("\r") for line in lines)
    if pending:
        yield pending.decode("utf-8", "replace")
