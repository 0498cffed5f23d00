"""The schedulers of all kinds of resources."""

from collections.abc import Iterable, Mapping
from typing import Any

from oslo_config import cfg

from armillary import exception
from objects.claims.resource_kinds import ResourceKind
from scheduler.pools.pool_scheduler import PoolScheduler


class PoolSchedulers:
    """One scheduler for each kind. Raises ``ConfigurationError`` for a plugin that is missing."""

    def __init__(self, conf: cfg.ConfigOpts, kinds: Iterable[ResourceKind], **parts: Any) -> None:
        self._by_kind: Mapping[str, PoolScheduler] = {
            kind.name: PoolScheduler(conf, kind, **parts) for kind in kinds
        }

    def all(self) -> Mapping[str, PoolScheduler]:
        """Return all of them by kind."""
        return self._by_kind

    def get(self, kind: str) -> PoolScheduler:
        """Return the scheduler of a kind. Raises ``Invalid`` if this process knows no such kind."""
        found = self._by_kind.get(kind)
        if found is None:
            known = ", ".join(sorted(self._by_kind))
            raise exception.Invalid(
                reason=f"this scheduler knows no kind of resource {kind!r}; known: {known}"
            )
        return found
