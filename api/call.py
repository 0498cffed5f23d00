"""What a handler is given and what it answers: one checked request, one plain answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from api.event_hub import EventHub
from api.links import Links
from armillary import exception
from armillary.context import RequestContext
from conductor.rpcapi import SuperConductorAPI


class Policy(Protocol):
    """Decides by the policy file and our defaults; raises ``PolicyNotAuthorized``."""

    def authorize(self, rule: str, target: Mapping[str, Any], context: RequestContext) -> Any: ...


@dataclass(frozen=True, slots=True)
class Site:
    """What all requests share: made once, when the application is."""

    conductor: SuperConductorAPI
    policy: Policy
    max_limit: int
    link_prefix: str | None
    document: Callable[[], dict[str, Any]]
    events: EventHub | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One request whose sender is known and whose parts fit their schemas.

    ``path``, ``query`` and ``body`` hold what was sent; ``subject`` is the thing that the path
    names, where the route loads it to know whose it is.
    """

    site: Site
    context: RequestContext
    links: Links
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    subject: Any = None

    @property
    def conductor(self) -> SuperConductorAPI:
        """The one service that this API speaks to."""
        return self.site.conductor

    def authorize(self, rule: str, target: Mapping[str, Any] | None = None) -> None:
        """Raise ``PolicyNotAuthorized`` unless the caller may do this to the target.

        Without a target it is about what belongs to the caller's own project.
        """
        self.site.policy.authorize(rule, self._own if target is None else target, self.context)

    def allows(self, rule: str, target: Mapping[str, Any] | None = None) -> bool:
        """Tell whether ``authorize`` would let it pass, for answers that show more to some."""
        try:
            self.authorize(rule, target)
        except exception.PolicyNotAuthorized:
            return False
        return True

    @property
    def page_size(self) -> int:
        """How many things this answer holds at most."""
        return min(self.query.get("limit", self.site.max_limit), self.site.max_limit)

    @property
    def _own(self) -> Mapping[str, Any]:
        return {"project_id": self.context.project_id, "user_id": self.context.user_id}


@dataclass(frozen=True, slots=True)
class Answer:
    """The body of a successful answer (None: no body) and headers beside the usual ones.

    A ``stream`` is sent in the place of a body, piece by piece, until it ends or nobody reads it.
    """

    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: Iterable[bytes] | None = None


Handler = Callable[[Call], Answer]
