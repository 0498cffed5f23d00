"""What can be asked of any zone of the sub-tree, by its path: this one, a child, one below it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from oslo_config import cfg

from armillary.context import RequestContext
from conductor.cells import SILENT_PATIENCE_SECONDS
from conductor.zone_rpcapi import ZoneAPI
from conductor.zones.links import ZoneLinks
from objects.zone_query import ZoneOrder

T = TypeVar("T")

Attempts = dict[str, dict[str, Any]]
"""Instance -> what became of its newest attempt; see ``ZoneAPI.get_attempts``."""


class OwnZone(Protocol):
    """What this zone does itself, for those above it and for its own walks."""

    def create(self, context: RequestContext, order: ZoneOrder) -> None:
        """See ``ZoneAPI``, here and below."""

    def get_attempts(self, context: RequestContext, instance_uuids: Sequence[str]) -> Attempts: ...

    def cancel(self, context: RequestContext, attempts: Mapping[str, int]) -> Attempts: ...

    def forward(
        self, context: RequestContext, method: str, arguments: Mapping[str, Any]
    ) -> Any: ...


@dataclasses.dataclass(frozen=True)
class Waiting(Generic[T]):
    """A question under way."""

    wait: Callable[[], T]
    """Returns the answer, or raises ZoneNotFound, ZoneUnavailable, what the zone raised."""


class Routes:
    """Passes on what is meant for a zone below this one, and does here what is meant for this one.

    Each method begins to ask, in the time that a question may take, and returns what waits for the
    answer. ``own`` is this zone, named when it is made: it needs these routes itself.
    """

    def __init__(self, conf: cfg.ConfigOpts, links: ZoneLinks) -> None:
        self._conf = conf
        self._links = links
        self.own: OwnZone

    def create(
        self, context: RequestContext, path: Sequence[str], order: ZoneOrder
    ) -> Waiting[None]:
        """See ``ZoneAPI``, here and below."""
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
        method: str,
        arguments: Mapping[str, Any],
        *,
        is_one_of_many: bool = False,
    ) -> Waiting[Any]:
        """See ``ZoneAPI``; where others are asked, too, a silent zone has little time."""
        return self._ask(
            path,
            lambda own: own.forward(context, method, arguments),
            lambda zone, rest, seconds: zone.forward(
                context, rest, method, dict(arguments), timeout_seconds=seconds
            ),
            silent_seconds=SILENT_PATIENCE_SECONDS if is_one_of_many else None,
        )

    def close(self) -> None:
        """Drop all links."""
        self._links.close()

    def _ask(
        self,
        path: Sequence[str],
        here: Callable[[OwnZone], T],
        there: Callable[[ZoneAPI, list[str], float], T],
        silent_seconds: float | None = None,
    ) -> Waiting[T]:
        """Begin to ask; what is known at once is raised by ``wait`` as well."""
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
