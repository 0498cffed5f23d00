"""HTTP client of the Armillary API for the command line: one response, or one clear error."""

from __future__ import annotations

import contextlib
import dataclasses
import ipaddress
import logging
import ssl
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlsplit

from armillary import exception
from armillary.backoff import Backoff

if TYPE_CHECKING:  # it takes longer to load than commands that do not call the API
    import requests

LOG = logging.getLogger(__name__)

DEFAULT_URL = "http://127.0.0.1:8774"
DEFAULT_TIMEOUT_SECONDS = 60.0
CONNECT_TIMEOUT_SECONDS = 5.0
MESSAGE_CHARACTERS_MAX = 2000

VERSION_PATH = "v2.1"
TOKEN_HEADER = "X-Auth-Token"  # noqa: S105 - the name of the header
VERSION_HEADERS = {"OpenStack-API-Version": "compute 2.96", "X-Armillary-Fields": "1"}
"""The version whose answers the commands read, with Armillary's own fields."""
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


class ApiUnavailable(ApiRefused, exception.Unavailable):
    """The API is up, but a part behind it is not; the request may have been executed."""

    template = ApiRefused.template


class ApiBusy(ApiRefused, exception.Conflict):
    """The API is still handling the same request, sent before."""

    template = ApiRefused.template


class ApiUnreachable(exception.Unavailable):
    """No API is listening at the address; the request was not sent."""

    template = "No Armillary API answers at %(url)s. Start one with: armillary up"


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
"""Errors after which a request that may be repeated is repeated."""


class ApiNotTrusted(exception.ArmillaryError):
    """The server's TLS certificate could not be verified."""

    template = (
        "The certificate of %(url)s is not trusted: %(reason)s. If it is signed by your "
        "own authority, name that with --cacert or ARMILLARY_CACERT."
    )


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
        import requests

        self._prefix = (target.prefix,) if target.prefix else ()
        self.url = _checked_url(url)
        self._timeout_seconds = timeout_seconds
        self._backoff = backoff
        self._session = requests.Session()
        self._session.headers.update({"Accept": "application/json", **target.headers})
        if token:
            self._session.headers[TOKEN_HEADER] = _checked_token(token)
        if _is_this_machine(self.url):
            self._session.trust_env = False  # no proxy for connections to this machine
        self._verify = _checked_authorities(cacert) if cacert else None

    def get(self, *path: str, query: Mapping[str, Any] | None = None) -> Document:
        return self._request("GET", path, query=query)

    def post(self, *path: str, body: Mapping[str, Any]) -> Document:
        """Send a JSON object; return the response's, empty if it has none.

        It is repeated when the API, or a part behind it, fails in the middle. The key tells the API
        that it is the same request, so it is carried out once.
        """
        headers = {IDEMPOTENCY_HEADER: str(uuid.uuid4())}
        transient: tuple[type[exception.ArmillaryError], ...] = _TRANSIENT
        for retry in range(POST_RETRIES_MAX):
            try:
                return self._request("POST", path, body=body, headers=headers)
            except transient as error:
                transient = (*_TRANSIENT, ApiUnreachable)  # it was there before
                seconds = self._backoff.seconds(retry)
                LOG.info("%s; repeated in %.1f s", error, seconds)
                time.sleep(seconds)
        return self._request("POST", path, body=body, headers=headers)

    def put(self, *path: str, body: Mapping[str, Any] | None) -> Document:
        return self._request("PUT", path, body=body)

    def delete(self, *path: str) -> None:
        self._request("DELETE", path)

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
        from requests.exceptions import RequestException

        response = self._send("GET", path, query=query, silence=silence)
        with contextlib.closing(response):
            if response.status_code >= 300:
                self._answer(response)
            try:
                for line in response.iter_lines():
                    yield line.decode("utf-8", "replace")
            except RequestException as error:
                route = "/".join([*self._prefix, *path])
                reason = "the connection broke"
                raise ApiTimeout(url=self.url, method="GET", path=route, reason=reason) from error

    def close(self) -> None:
        self._session.close()

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
        silence: float | None = None,
    ) -> requests.Response:
        """Return the response; of a stream only its start, with ``silence`` as its timeout."""
        from requests import exceptions

        timeout_seconds = self._timeout_seconds if silence is None else silence
        route = "/".join([*self._prefix, *(_segment(part) for part in path)])
        try:
            response = self._session.request(
                method,
                f"{self.url}/{route}",
                params=query,
                json=body,
                headers=headers,
                timeout=(CONNECT_TIMEOUT_SECONDS, timeout_seconds),
                stream=silence is not None,
                # otherwise REQUESTS_CA_BUNDLE would override the session's setting
                verify=self._verify,
                allow_redirects=False,  # requests would send the token to the redirect's target
            )
        except exceptions.SSLError as error:
            raise _tls_error(self.url, error) from error
        except exceptions.ConnectionError as error:
            raise self._not_connected(method, route, error) from error
        except exceptions.ReadTimeout as error:
            reason = f"no response within {timeout_seconds:g} s"
            raise ApiTimeout(url=self.url, method=method, path=route, reason=reason) from error
        except exceptions.RequestException as error:
            raise NotAnArmillaryApi(url=self.url, reason=str(error)) from error
        seconds = response.elapsed.total_seconds()
        LOG.debug("%s %s: HTTP %s in %.3f s", method, response.url, response.status_code, seconds)
        return response

    def _not_connected(
        self, method: str, route: str, error: requests.exceptions.ConnectionError
    ) -> exception.Unavailable:
        """Distinguish a failed connection attempt from a connection that broke later."""
        if _was_never_made(error):
            return ApiUnreachable(url=self.url)
        reason = "the connection broke"
        return ApiConnectionLost(url=self.url, method=method, path=route, reason=reason)

    def _answer(self, response: requests.Response) -> Document:
        if response.status_code >= 400:
            raise _refusal(response)
        if response.status_code >= 300:
            where = response.headers.get("Location", "elsewhere")
            raise NotAnArmillaryApi(url=self.url, reason=f"it redirects to {where}")
        if not response.content:
            return {}
        document = _parsed(response)
        if document is None:
            raise NotAnArmillaryApi(url=self.url, reason="the response is not a JSON object")
        return document


def _refusal(response: requests.Response) -> ApiRefused:
    kind = ApiRefused
    if response.status_code == 404:
        kind = ApiNotFound
    elif response.status_code in (502, 503, 504):
        kind = ApiUnavailable
    elif response.status_code == 409 and "Retry-After" in response.headers:
        kind = ApiBusy
    return kind(
        status=response.status_code,
        reason=_reason(response).strip()[:MESSAGE_CHARACTERS_MAX],
        request_id=_request_id(response),
    )


def _reason(response: requests.Response) -> str:
    """Return the message of an error in the Compute API's format, or a substitute."""
    for value in (_parsed(response) or {}).values():
        if isinstance(value, dict) and isinstance(value.get("message"), str):
            return str(value["message"])
        if isinstance(value, list) and value and isinstance(value[0], dict):  # as placement's
            return str(value[0].get("detail", response.reason))
    return str(response.reason or "No reason was given.")


def _request_id(response: requests.Response) -> str:
    for name in REQUEST_ID_HEADERS:
        if name in response.headers:
            return str(response.headers[name])
    return "unknown"


def _parsed(response: requests.Response) -> Document | None:
    try:
        document = response.json()
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _next_page(links: list[dict[str, str]]) -> dict[str, str] | None:
    """Return the parameters of the next page; the link's host is ignored."""
    for link in links:
        if link.get("rel") == "next":
            return dict(parse_qsl(urlsplit(link["href"]).query))
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


def _checked_authorities(path: str) -> str:
    try:
        ssl.create_default_context(cafile=path)
    except (OSError, ssl.SSLError) as error:
        reason = error.strerror or str(error)
        raise exception.Invalid(
            f"The authorities in {path} cannot be used: {reason}. Expected a PEM file."
        ) from error
    return path


def _tls_error(url: str, error: requests.exceptions.SSLError) -> exception.ArmillaryError:
    """Distinguish an untrusted certificate from other TLS errors."""
    cause: Any = error.args[0] if error.args else None
    cause = getattr(cause, "reason", cause)
    found = cause.args[0] if getattr(cause, "args", ()) else cause
    if isinstance(found, ssl.SSLCertVerificationError):
        return ApiNotTrusted(url=url, reason=found.verify_message)
    return NotAnArmillaryApi(url=url, reason=f"TLS failed: {error}")


def _is_this_machine(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _was_never_made(error: requests.exceptions.ConnectionError) -> bool:
    """Find the cause in what requests wraps around urllib3's errors."""
    from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

    cause: Any = error.args[0] if error.args else None
    return isinstance(getattr(cause, "reason", cause), (NewConnectionError, ConnectTimeoutError))
