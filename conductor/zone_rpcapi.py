"""Client of a zone as its parent sees it, and of the summaries that a zone pushes.

Both are on the child's broker: the parent connects there, the child connects to nobody. Topic
``zone`` is served by the child's super conductors, the border of a zone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armillary.context import RequestContext
from objects.zone_answer import ZoneAnswer
from objects.zone_query import ZoneOrder, ZoneQuery
from objects.zone_summary import ZoneSummary
from rpc.client import RpcClient


class ZoneAPI(RpcClient):
    """A zone, over its broker. Any number of its super conductors; each can answer everything.

    ``path`` names the zones below the asked one, down to the one that is meant; empty means
    the asked zone itself. Who is not the last only forwards. Raises, beside what every call does,
    ZoneNotFound for a path that leads nowhere and ZoneUnavailable (outcome unknown) where a zone
    on the way did not answer. Version history: 1.0 initial; 1.1 list_migrations and abort_migration
    are forwarded, get_attempts tells sizes.
    """

    TOPIC = "zone"
    VERSION = "1.1"

    def select_hosts(
        self, context: RequestContext, query: ZoneQuery, *, timeout_seconds: float
    ) -> ZoneAnswer:
        """Return the best hosts of the zone's sub-tree, unclaimed; no host is an empty answer."""
        result: ZoneAnswer = self._call(
            context, "select_hosts", query=query, timeout_seconds=timeout_seconds
        )
        return result

    def create(
        self,
        context: RequestContext,
        path: Sequence[str],
        order: ZoneOrder,
        *,
        timeout_seconds: float,
    ) -> None:
        """Have instances accepted and built, each on its one host; return once that is stored.

        Idempotent by instance and attempt. An attempt that was cancelled before it came, or that
        is older than one that is known, is refused: StaleZoneAttempt, with nothing done for any.
        """
        self._call(context, "create", path=list(path), order=order, timeout_seconds=timeout_seconds)

    def get_attempts(
        self,
        context: RequestContext,
        path: Sequence[str],
        instance_uuids: Sequence[str],
        *,
        timeout_seconds: float,
    ) -> dict[str, dict[str, Any]]:
        """Return instance -> what became of its newest attempt there.

        ``{"attempt": n, "state": "building" | "active" | "failed" | "cancelling" | "gone",
        "reason": text or None, "host": opaque id or None}``; an instance that never came is
        missing. An active one has since 1.1 ``"size": {"vcpus": n, "memory_mb": MiB,
        "is_resizing": whether that is the larger of two flavors}``.
        """
        result: dict[str, dict[str, Any]] = self._call(
            context,
            "get_attempts",
            path=list(path),
            instance_uuids=list(instance_uuids),
            timeout_seconds=timeout_seconds,
        )
        return result

    def cancel(
        self,
        context: RequestContext,
        path: Sequence[str],
        attempts: dict[str, int],
        *,
        timeout_seconds: float,
    ) -> dict[str, dict[str, Any]]:
        """Undo attempts (instance -> attempt), also those that never came: they will be refused.

        Answers as ``get_attempts``; only "gone" says that nothing is left of one. Idempotent.
        """
        result: dict[str, dict[str, Any]] = self._call(
            context, "cancel", path=list(path), attempts=attempts, timeout_seconds=timeout_seconds
        )
        return result

    def forward(
        self,
        context: RequestContext,
        path: Sequence[str],
        method: str,
        arguments: dict[str, Any],
        *,
        timeout_seconds: float,
    ) -> Any:
        """Do in the owning zone what a user asked the origin for: show, list, delete, operate.

        ``method`` is one of those that a zone serves to its parents; see ``conductor.zones``. An
        older zone refuses what it does not know: Invalid.
        """
        return self._call(
            context,
            "forward",
            path=list(path),
            operation=method,
            arguments=arguments,
            timeout_seconds=timeout_seconds,
        )

    def refresh(self, context: RequestContext, *, timeout_seconds: float) -> None:
        """Have the zone push its summary now, and ask its children to."""
        self._call(context, "refresh", timeout_seconds=timeout_seconds)


class ZoneSummariesAPI(RpcClient):
    """The parents of a zone, on that zone's own broker. Nobody may be listening."""

    TOPIC = "zone_summaries"
    VERSION = "1.0"

    def update_summary(self, context: RequestContext, summary: ZoneSummary) -> None:
        """Push a summary to every process of every parent (fanout)."""
        self._cast(context, "update_summary", fanout=True, summary=summary)
