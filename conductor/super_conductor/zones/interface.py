"""RPC clients of zones: of a child zone, and of the parents that receive its summaries.

Both use the child's broker: the parent connects there, the child connects to no other zone. Topic
``zone`` is served by the child's super conductors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armillary.context import RequestContext
from objects.zones.zone_answer import ZoneAnswer
from objects.zones.zone_query import ZoneOrder, ZoneQuery
from objects.zones.zone_summary import ZoneSummary
from rpc.client import RpcClient


class ZoneAPI(RpcClient):
    """RPC client of a zone, on its broker. Any of its super conductors can answer any call.

    ``path`` lists the zones below the called one, down to the target zone; empty means the called
    zone itself. Zones before the last one only forward. Besides the errors of every call, raises
    ZoneNotFound for an unknown path and ZoneUnavailable (outcome unknown) if a zone on the path did
    not answer. Version history: 1.0 initial; 1.1 list_migrations and abort_migration are forwarded,
    get_attempts returns sizes.
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
        """Store instances to build, each on its one host; return once they are stored.

        Idempotent by instance and attempt. Raises StaleZoneAttempt, without storing anything, for
        an attempt that was cancelled before it arrived, or that is older than a known one.
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
        """Return instance -> state of its newest attempt there.

        ``{"attempt": n, "state": "building" | "active" | "failed" | "cancelling" | "gone",
        "reason": text or None, "host": opaque id or None}``; an instance that never arrived is
        missing. Since 1.1 an active one has ``"size": {"vcpus": n, "memory_mb": MiB, "is_resizing":
        whether that is the larger of two flavors}``.
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
        """Cancel attempts (instance -> attempt); those that have not arrived will be refused.

        Answers as ``get_attempts``; only "gone" means that nothing is left of an attempt.
        Idempotent.
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
        """Run a user's request in the owning zone: show, list, delete, operate.

        ``method`` is one of those that a zone offers to its parents; see
        ``conductor.super_conductor.zones``. An
        older zone raises Invalid for an unknown one.
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
        """Have the zone push its summary now, and request those of its children."""
        self._call(context, "refresh", timeout_seconds=timeout_seconds)


class ZoneSummariesAPI(RpcClient):
    """RPC client of a zone's parents, on that zone's broker. There may be no listener."""

    TOPIC = "zone_summaries"
    VERSION = "1.0"

    def update_summary(self, context: RequestContext, summary: ZoneSummary) -> None:
        """Push a summary to every process of every parent (fanout)."""
        self._cast(context, "update_summary", fanout=True, summary=summary)
