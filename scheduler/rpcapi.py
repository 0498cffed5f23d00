"""Client of the scheduler over RPC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armillary.context import RequestContext
from objects.destinations import Destinations
from objects.host_states import HostStateBatch
from objects.request_spec import RequestSpec
from rpc.client import RpcClient


class SchedulerAPI(RpcClient):
    """The scheduler, on the top broker. Any number of processes; each can answer everything.

    Version history: 1.0 initial.
    """

    TOPIC = "scheduler"
    VERSION = "1.0"

    def select_destinations(
        self,
        context: RequestContext,
        request_spec: RequestSpec,
        instance_uuids: Sequence[str],
        *,
        fences: Sequence[int],
        return_alternates: bool = True,
        dry_run: bool = False,
        timeout_seconds: float | None = None,
    ) -> Destinations:
        """Choose and claim a host for each instance, and pick alternates in its cell.

        All or nothing: raises NoValidHost (``kwargs["trace"]`` is the primitive of the
        DecisionTrace, ``kwargs["reason"]`` the sentence) with every claim of this call released.
        ``fences`` are those of the claims, one an instance. ``dry_run`` claims nothing.
        """
        result: Destinations = self._call(
            context,
            "select_destinations",
            timeout_seconds=timeout_seconds,
            request_spec=request_spec,
            instance_uuids=list(instance_uuids),
            fences=list(fences),
            return_alternates=return_alternates,
            dry_run=dry_run,
        )
        return result

    def update_host_states(self, context: RequestContext, batch: HostStateBatch) -> None:
        """Push changed host states to every scheduler (fanout); may be lost, the sequence tells."""
        self._cast(context, "update_host_states", fanout=True, batch=batch)

    def update_facts(self, context: RequestContext, facts: dict[str, Any]) -> None:
        """Push cells and aggregates to every scheduler (fanout).

        See SuperConductorAPI.get_facts.
        """
        self._cast(context, "update_facts", fanout=True, facts=facts)
