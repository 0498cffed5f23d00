"""Routing of requests to any zone of the sub-tree by its path: this zone or one below it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from oslo_config import cfg

from armillary.context import RequestContext
from conductor.super_conductor.hosts.cells import SILENT_TIMEOUT_SECONDS
from conductor.super_conductor.zones.child_zones import ZoneLinks
from conductor.super_conductor.zones.forwarded import changes
from conductor.super_conductor.zones.interface import ZoneAPI
from objects.zones.zone_attempt import Attempts
from objects.zones.zone_query import ZoneOrder
from objects.zones.zone_request import ZoneRequest

T = TypeVar("T")


class OwnZone(Protocol):
    """Operations of this zone itself, called for parent zones and for its own walks."""

    def create(self, context: RequestContext, order: ZoneOrder) -> None:
        """See ``ZoneAPI``; so for the methods below."""

    def get_attempts(self, context: RequestContext, instance_uuids: Sequence[str]) -> Attempts: ...

    def cancel(self, context: RequestContext, attempts: Mapping[str, int]) -> Attempts: ...

    def forward(self, context: RequestContext, request: ZoneRequest) -> Any: ...


@dataclasses.dataclass(frozen=True)
class Waiting(Generic[T]):
    """A request in progress."""

    wait: Callable[[], T]
    """Returns the answer, or raises ZoneNotFound, ZoneUnavailable or what the zone raised."""


class Routes:
    """Forwards requests to zones below this one, and handles those for this zone locally.

    Each method starts a request and returns a handle that waits for its answer. A request times out
    after ``[zones] forward_timeout_seconds``. ``own`` is this zone; it is set after construction
    because it needs these routes itself.
    """

    def __init__(self, conf: cfg.ConfigOpts, links: ZoneLinks) -> None:
        self._conf = conf
        self._links = links
        self.own: OwnZone

    def create(
        self, context: RequestContext, path: Sequence[str], order: ZoneOrder
    ) -> Waiting[None]:
        """See ``ZoneAPI``; so for the methods below."""
        return self._ask(
            path,
            lambda own: own.create(context, order),
            lambda zone, rest, seconds: zone.create(context, rest, order, timeout_seconds=seconds),
        )

    def get_attempts(
        self, context: RequestContext, path: Sequence[str], instance_uuids: Sequence[str]
    ) -> Waiting[Attempts]:
        return self._ask(
            path,
            lambda own: own.get_attempts(context, instance_uuids),
            lambda zone, rest, seconds: zone.get_attempts(
                context, rest, instance_uuids, timeout_seconds=seconds
            ),
        )

    def cancel(
        self, context: RequestContext, path: Sequence[str], attempts: Mapping[str, int]
    ) -> Waiting[Attempts]:
        return self._ask(
            path,
            lambda own: own.cancel(context, attempts),
            lambda zone, rest, seconds: zone.cancel(
                context, rest, dict(attempts), timeout_seconds=seconds
            ),
        )

    def forward(
        self,
        context: RequestContext,
        path: Sequence[str],
        request: ZoneRequest,
        *,
        is_one_of_many: bool = False,
    ) -> Waiting[Any]:
        """See ``ZoneAPI``.

        ``is_one_of_many``: a zone that was silent before gets a short timeout.
        """
        return self._ask(
            path,
            lambda own: own.forward(context, request),
            lambda zone, rest, seconds: (zone.forward_change if changes(request) else zone.forward)(
                context, rest, request, timeout_seconds=seconds
            ),
            silent_seconds=SILENT_TIMEOUT_SECONDS if is_one_of_many else None,
        )

    def close(self) -> None:
        """Close all links."""
        self._links.close()

    def _ask(
        self,
        path: Sequence[str],
        here: Callable[[OwnZone], T],
        there: Callable[[ZoneAPI, list[str], float], T],
        silent_seconds: float | None = None,
    ) -> Waiting[T]:
        """Start a request; immediate errors are raised by ``wait`` as well."""
        if not path:
            return Waiting(lambda: here(self.own))
        seconds = float(self._conf.zones.forward_timeout_seconds)
        name, rest = path[0], list(path[1:])
        try:
            asked = self._links.ask(name, lambda zone: there(zone, rest, seconds))
        except Exception as error:
            return Waiting(_raising(error))
        if asked.was_silent and silent_seconds is not None:
            return Waiting(lambda: asked.wait(silent_seconds))
        return Waiting(lambda: asked.wait(seconds))


def _raising(error: Exception) -> Callable[[], Any]:
    def wait() -> Any:
        raise error

    return wait
