"""HTTP client of the Armillary API for the command line: one response, or one clear error."""

from __future__ import annotations

import contextlib
import dataclasses
import ipaddress
import json
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from armillary import exception
from armillary.backoff import Backoff

if TYPE_CHECKING:  # they take longer to load than commands that do not call the API
    import ssl

    import urllib3

LOG = logging.getLogger(__name__)

DEFAULT_URL = "http://127.0.0.1:8774"
DEFAULT_TIMEOUT_SECONDS = 60.0
CONNECT_TIMEOUT_SECONDS = 5.0
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


class ApiRefused(exception.ArmillaryError):
    """The API rejected the request. ``kwargs`` has status, reason, request_id."""

    template = "%(reason)s (HTTP %(status)s, request %(request_id)s)"

    @property
    def status(self) -> int:
        return int(self.kwargs["status"])


class ApiNotFound(ApiRefused, exception.NotFound):
    """The requested object does not exist, or is not visible to this caller."""

    template = ApiRefused.template


class ApiUnauthorized(ApiRefused):
    """The API does not know the token, or none was given."""

    template = (
        f"{ApiRefused.template}. Give a valid token with --token or ARMILLARY_TOKEN; only the user "
        "who started 'armillary up' needs none."
    )


class ApiUnavailable(ApiRefused, exception.Unavailable):
    """The API is up, but a service behind it is not; the request may have been executed."""

    template = ApiRefused.template


class ApiBusy(ApiRefused, exception.Conflict):
    """The API is still handling the same request, sent before."""

    template = ApiRefused.template


class ApiUnreachable(exception.Unavailable):
    """No API is listening at the address; the request was not sent."""

    template = (
        "No Armillary API answers at %(url)s: %(reason)s. Start one with: armillary up. One that "
        "is elsewhere is named with --api-url or ARMILLARY_API_URL."
    )


class ApiTimeout(exception.Unavailable):
    """The request timed out or the connection broke: the outcome is unknown."""

    template = (
        "%(method)s %(path)s at %(url)s: %(reason)s. The request may have been executed: "
        "check before you repeat it."
    )


class ApiConnectionLost(ApiTimeout):
    """The connection broke before the answer came."""

    template = ApiTimeout.template


_TRANSIENT = (ApiUnavailable, ApiConnectionLost, ApiBusy)
"""Errors after which an idempotent request is retried."""


class ApiNotTrusted(exception.ArmillaryError):
    """The server's TLS certificate could not be verified."""

    template = (
        "The certificate of %(url)s is not trusted: %(reason)s. If it is signed by your "
        "own authority, name that with --cacert or ARMILLARY_CACERT."
    )


class ProxyFailed(exception.Unavailable):
    """The proxy of the environment did not connect; the request was not sent."""

    template = "The proxy for %(url)s failed: %(reason)s"


class NotAnArmillaryApi(exception.ArmillaryError):
    """The address belongs to a service other than an Armillary API."""

    template = "The service at %(url)s is not an Armillary API: %(reason)s"


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
    of this module, and ``exception.Invalid`` for an invalid address or a ``cacert`` without
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
        self._pool = _pool(self.url, _tls(cacert) if cacert else None)

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
            raise _tls_error(self.url, error) from error
        except (exceptions.NewConnectionError, exceptions.ConnectTimeoutError) as error:
            raise ApiUnreachable(url=self.url, reason=_why_unreachable(error)) from error
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


def _why_unreachable(error: urllib3.exceptions.HTTPError) -> str:
    from urllib3 import exceptions

    if isinstance(error, exceptions.NameResolutionError):
        return "the name of its host is unknown"
    if isinstance(error, exceptions.NewConnectionError):
        reason = getattr(error.__cause__, "strerror", None) or "connection failed"
        return str(reason)[:1].lower() + str(reason)[1:]
    return f"no connection within {CONNECT_TIMEOUT_SECONDS:g} s"


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


def _tls(cacert: str) -> ssl.SSLContext:
    """Return a context that trusts the authorities of a file alone."""
    import ssl

    try:
        return ssl.create_default_context(cafile=cacert)
    except (OSError, ssl.SSLError) as error:
        reason = error.strerror or str(error)
        raise exception.Invalid(
            f"The authorities in {cacert} cannot be used: {reason}. Expected a PEM file."
        ) from error


def _tls_error(url: str, error: urllib3.exceptions.SSLError) -> exception.ArmillaryError:
    """Distinguish an untrusted certificate from other TLS errors."""
    import ssl

    found = error.args[0] if error.args else None
    if isinstance(found, ssl.SSLCertVerificationError):
        return ApiNotTrusted(url=url, reason=found.verify_message)
    reason = f"TLS failed: {error}"
    if getattr(found, "reason", None) in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
        reason = "it does not speak TLS; an address without TLS begins with http://"
    return NotAnArmillaryApi(url=url, reason=reason)


def _pool(url: str, tls: ssl.SSLContext | None) -> urllib3.PoolManager:
    """Return the connections to the API, through the proxy of the environment if one is set."""
    import urllib3

    proxy = _proxy_of(url)
    if proxy is None:
        return urllib3.PoolManager(ssl_context=tls)
    parts = urlsplit(proxy)
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    headers = urllib3.make_headers(proxy_basic_auth=login) if parts.username else None
    try:
        return urllib3.ProxyManager(proxy, proxy_headers=headers, ssl_context=tls)
    except urllib3.exceptions.HTTPError as error:
        raise exception.Invalid(f"The proxy of the environment cannot be used: {error}.") from error


def _proxy_of(url: str) -> str | None:
    """Return the proxy that the environment names for an address; None for this machine's."""
    if _is_this_machine(url) or not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    from urllib.request import getproxies_environment, proxy_bypass

    parts = urlsplit(url)
    if proxy_bypass(parts.netloc):
        return None
    proxies = getproxies_environment()
    found = proxies.get(parts.scheme) or proxies.get("all")
    return found if not found or "://" in found else f"http://{found}"


def _is_this_machine(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield the lines of a stream as soon as each is complete."""
    pending = b""
    for chunk in chunks:
        *lines, pending = (pending + chunk).split(b"\n")
        yield from (line.decode("utf-8", "replace").rstrip("\r") for line in lines)
    if pending:
        yield pending.decode("utf-8", "replace")
