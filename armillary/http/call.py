"""Input and output of handlers: a validated request, and a response."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from armillary.context import RequestContext
from armillary.http.microversion import Version

Document = dict[str, Any]
"""A JSON object of a request or a response."""


class Policy(Protocol):
    """Authorization by the policy file and defaults; raises ``PolicyNotAuthorized``."""

    def authorize(self, rule: str, target: Mapping[str, Any], context: RequestContext) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """State shared by all requests, created with the application.

    ``document`` returns the OpenAPI document of the API.
    """

    policy: Policy
    document: Callable[[], dict[str, object]]


SiteT = TypeVar("SiteT", bound=Site)


@dataclass(slots=True, kw_only=True)  # not frozen: it is filled in two steps, once a request
class Call(Generic[SiteT]):
    """An authenticated request whose parts match their schemas.

    ``path``, ``query`` and ``body`` hold what was sent; ``subject`` is the object of the path, if
    the route loads it for the policy. On a public path the context is anonymous.
    """

    site: SiteT
    context: RequestContext
    version: Version
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    subject: Any = None

    def authorize(self, rule: str, target: Mapping[str, Any] | None = None) -> None:
        """Raise ``PolicyNotAuthorized`` unless the caller may do this to the target."""
        target = self.default_target if target is None else target
        self.site.policy.authorize(rule, target, self.context)

    @property
    def default_target(self) -> Mapping[str, Any]:
        """The policy target of requests that name none."""
        return {}


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful response.

    ``body`` is JSON-ready, or bytes of JSON; None sends no body. A ``stream`` is sent instead,
    piece by piece, until it ends or the client disconnects. ``status`` None uses the action's.
    ``last_modified`` is naive UTC. ``cookie`` is the value of a ``Set-Cookie`` header.
    """

    body: Any = None
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: Iterable[bytes] | None = None
    last_modified: datetime | None = None
    cookie: str | None = None


CallT = TypeVar("CallT", bound=Call[Any])

Handler = Callable[[CallT], Answer]
