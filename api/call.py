"""Input and output of handlers: a validated request, and a response."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from api.event_hub import EventHub
from api.links import Links
from armillary import exception
from armillary.context import RequestContext
from conductor.super_conductor.rpcapi import SuperConductorAPI


class Policy(Protocol):
    """Authorization by the policy file and defaults; raises ``PolicyNotAuthorized``."""

    def authorize(self, rule: str, target: Mapping[str, Any], context: RequestContext) -> Any: ...


@dataclass(frozen=True, slots=True)
class AppState:
    """State shared by all requests, created with the application."""

    conductor: SuperConductorAPI
    policy: Policy
    max_limit: int
    link_prefix: str | None
    document: Callable[[], dict[str, Any]]
    events: EventHub | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """An authenticated request whose parts match their schemas.

    ``path``, ``query`` and ``body`` hold what was sent; ``subject`` is the object of the path, if
    the route loads it to determine its project.
    """

    site: AppState
    context: RequestContext
    links: Links
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    subject: Any = None

    @property
    def conductor(self) -> SuperConductorAPI:
        """Client of the super conductor, the only service that this API calls."""
        return self.site.conductor

    def authorize(self, rule: str, target: Mapping[str, Any] | None = None) -> None:
        """Raise ``PolicyNotAuthorized`` unless the caller may do this to the target.

        Without a target, it refers to the caller's own project.
        """
        self.site.policy.authorize(rule, self._own if target is None else target, self.context)

    def allows(self, rule: str, target: Mapping[str, Any] | None = None) -> bool:
        """Return whether ``authorize`` would succeed, for responses that show more to some."""
        try:
            self.authorize(rule, target)
        except exception.PolicyNotAuthorized:
            return False
        return True

    @property
    def page_size(self) -> int:
        """Maximum number of items in this response."""
        return min(self.query.get("limit", self.site.max_limit), self.site.max_limit)

    @property
    def _own(self) -> Mapping[str, Any]:
        return {"project_id": self.context.project_id, "user_id": self.context.user_id}


@dataclass(frozen=True, slots=True)
class Answer:
    """The body of a successful response (None: no body) and additional headers.

    A ``stream`` is sent instead of a body, piece by piece, until it ends or the client disconnects.
    """

    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: Iterable[bytes] | None = None


Handler = Callable[[Call], Answer]
