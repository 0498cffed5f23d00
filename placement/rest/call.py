"""Input and output of handlers: a validated request, and a response."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from armillary.context import RequestContext
from armillary.http.microversion import Version
from placement.engine import PlacementEngine


class Policy(Protocol):
    """Authorization by the policy file and defaults; raises ``PolicyNotAuthorized``."""

    def authorize(self, rule: str, target: Mapping[str, Any], context: RequestContext) -> Any: ...


@dataclass(frozen=True, slots=True)
class AppState:
    """State shared by all requests, created with the application."""

    engine: PlacementEngine
    policy: Policy
    incomplete_consumer_project_id: str
    incomplete_consumer_user_id: str
    document: Callable[[], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Call:
    """An authenticated request whose parts match their schemas.

    ``query`` has every parameter with all its values, in order; ``body`` is the parsed JSON.
    ``root`` is the path below which the API is mounted, such as ``/placement`` or nothing;
    ``origin`` the address that the request was sent to, such as ``http://controller:8778``.
    """

    site: AppState
    context: RequestContext
    version: Version
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, list[str]] = field(default_factory=dict)
    body: Any = None
    root: str = ""
    origin: str = ""

    @property
    def engine(self) -> PlacementEngine:
        """The engine of this process."""
        return self.site.engine

    def authorize(self, rule: str, target: Mapping[str, Any] | None = None) -> None:
        """Raise ``PolicyNotAuthorized`` unless the caller may do this to the target."""
        self.site.policy.authorize(rule, target or {}, self.context)

    def parameter(self, name: str) -> str | None:
        """Return the last value of a query parameter, None if it was not sent."""
        values = self.query.get(name)
        return values[-1] if values else None

    def link(self, path: str) -> str:
        """Return a path of this API in the form used in ``links``."""
        return f"{self.root}{path}"

    def location(self, path: str) -> str:
        """Return a path of this API in the form used in the header ``Location``."""
        return f"{self.origin}{self.root}{path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful response.

    ``body`` is JSON-ready, or bytes of JSON, or an iterator of such bytes, which are streamed; None
    sends no body. ``status`` None uses the action's. ``last_modified`` (naive UTC) is sent with
    ``Cache-Control: no-cache`` since 1.15.
    """

    body: Any = None
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    last_modified: datetime | None = None


Handler = Callable[[Call], Answer]
