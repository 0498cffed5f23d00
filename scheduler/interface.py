"""RPC client of the scheduler."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from armillary import exception
from armillary.context import RequestContext
from objects.aggregate import Aggregate
from objects.destinations import Destinations
from objects.host_states import HostStateBatch
from objects.packed.scheduling_batch import (
    Answer,
    BatchedRequest,
    SchedulingAnswers,
    SchedulingBatch,
)
from objects.request_spec import RequestSpec
from objects.zones.zone_answer import ZoneAnswer
from objects.zones.zone_query import ZoneQuery
from rpc.client import RpcClient

OBJECTS_OF_1_0 = {
    "DecisionTrace": "1.0",
    "Destinations": "1.0",
    "SchedulerLimits": "1.0",
    "Selection": "1.0",
}
"""Object versions that a 1.0 caller understands."""

InstancesOfHosts = Mapping[str, Sequence[str]]
"""Host -> UUIDs of instances."""


class SchedulerAPI(RpcClient):
    """The scheduler, on the top broker. Any number of processes, each able to answer any call.

    Version history: 1.0 initial; 1.1 select_destinations takes RequestSpec 1.1 and returns
    SchedulerLimits and DecisionTrace 1.1, adds select_destinations_many, update_aggregates,
    delete_aggregate, update_instance_info, delete_instance_info, sync_instance_info; 1.2
    select_destinations_many takes SchedulingBatch 1.1 and returns SchedulingAnswers 1.1; 1.3
    select_destinations takes takes_zones, adds select_for_zone, get_zones, refresh_zones; 1.4 adds
    get_ways_to_hold, select_destinations takes InstanceGroup 1.1.
    """

    TOPIC = "scheduler"
    VERSION = "1.4"

    def select_destinations(
        self,
        context: RequestContext,
        request_spec: RequestSpec,
        instance_uuids: Sequence[str],
        *,
        fences: Sequence[int],
        return_alternates: bool = True,
        dry_run: bool = False,
        takes_zones: bool = False,
        timeout_seconds: float | None = None,
    ) -> Destinations:
        """Select and claim a host for each instance, and select alternates in its cell.

        All or nothing: raises NoValidHost (``kwargs["trace"]`` is the primitive of the
        DecisionTrace, ``kwargs["reason"]`` the sentence) after releasing all claims of this call.
        ``fences`` are those of the claims, one per instance. A second attempt claims with the next
        fences, so later writes must use higher ones. ``dry_run`` claims nothing. With
        ``takes_zones`` the answer may be ``zone_entries``, without claims, if other zones have
        hosts; older schedulers ignore it. Raises Invalid if an older scheduler does not support the
        request.
        """
        is_older = not self.can_send("1.1")
        self._check_destination(request_spec)
        request_spec = self._for_receiver(request_spec)
        zones: dict[str, Any] = (
            {"takes_zones": True} if takes_zones and self.can_send("1.3") else {}
        )
        result: Destinations = self._call(
            context,
            "select_destinations",
            version="1.3" if zones else "1.0" if is_older else "1.1",
            timeout_seconds=timeout_seconds,
            request_spec=request_spec.obj_to_primitive("1.0") if is_older else request_spec,
            instance_uuids=list(instance_uuids),
            fences=list(fences),
            return_alternates=return_alternates,
            dry_run=dry_run,
            **zones,
        )
        return result

    def _as_received(self, request: BatchedRequest) -> BatchedRequest:
        spec = self._for_receiver(request.request_spec)
        if spec is request.request_spec:
            return request
        return dataclasses.replace(request, request_spec=spec)

    def _for_receiver(self, request_spec: RequestSpec) -> RequestSpec:
        """Return the spec without its group's zone paths if the receiver is older than 1.4."""
        group = request_spec.instance_group
        if group is None or not group.zone_paths or self.can_send("1.4"):
            return request_spec
        return request_spec.with_values(instance_group=group.with_values(zone_paths=[]))

    def _check_destination(self, request_spec: RequestSpec) -> None:
        """Raise ``Invalid`` for a node UUID that an older scheduler would ignore."""
        destination = request_spec.requested_destination
        if destination and destination.node_uuid and not self.can_send("1.3"):
            raise exception.Invalid(
                reason="a request for a node by its UUID needs schedulers with RPC version 1.3; "
                "upgrade the schedulers and raise [upgrade_levels] scheduler"
            )

    def select_destinations_many(
        self,
        context: RequestContext,
        requests: Sequence[BatchedRequest],
        *,
        timeout_seconds: float | None = None,
    ) -> list[Answer]:
        """Run ``select_destinations`` for many requests in one message (since 1.1), with claims.

        Each request gets its own answer: its destinations, or the error that it would have raised.
        Raises ``Invalid`` if one of them is malformed, before processing any.
        """
        for each in requests:
            self._check_destination(each.request_spec)
        batch = SchedulingBatch.of(map(self._as_received, requests))
        is_older = not self.can_send("1.2")
        answers: SchedulingAnswers = self._call(
            context,
            "select_destinations_many",
            version="1.1" if is_older else "1.2",
            timeout_seconds=timeout_seconds,
            batch=batch.obj_to_primitive("1.0") if is_older else batch,
        )
        return answers.unpacked()

    def get_ways_to_hold(
        self, context: RequestContext, requests: Sequence[RequestSpec]
    ) -> list[list[dict[str, int]]] | None:
        """Return the allocations that an instance of each request may have in placement.

        Each alternative is class -> amount, summed over all providers. The list is empty for a
        request that cannot be expressed as a query. None means that the driver claims nothing, so
        instances need no allocations. Since 1.4.
        """
        result: list[list[dict[str, int]]] | None = self._call(
            context, "get_ways_to_hold", version="1.4", requests=list(requests)
        )
        return result

    # Zones, since 1.3

    def select_for_zone(
        self,
        context: RequestContext,
        query: ZoneQuery,
        *,
        timeout_seconds: float | None = None,
    ) -> ZoneAnswer:
        """Return the best hosts of this zone's sub-tree to a parent zone; claim nothing.

        Raises Invalid if this deployment is not part of a tree of zones or its driver does not
        weigh hosts; Unavailable shortly after startup.
        """
        result: ZoneAnswer = self._call(
            context,
            "select_for_zone",
            version="1.3",
            timeout_seconds=timeout_seconds,
            query=query,
        )
        return result

    def get_zones(self, context: RequestContext) -> dict[str, Any]:
        """Return what is known of this zone and its children.

        ``own`` is the last ZoneSummary, None before the first; ``zones`` has a dict for each child:
        ``name``, ``state`` (online, stale, offline, disabled), ``last_seen`` (ISO 8601, or None)
        and ``summary`` (its last ZoneSummary, or None).
        """
        result: dict[str, Any] = self._call(context, "get_zones", version="1.3")
        return result

    def refresh_zones(self, context: RequestContext) -> None:
        """Push this zone's summary now, and ask the children to push theirs."""
        self._call(context, "refresh_zones", version="1.3")

    def update_host_states(self, context: RequestContext, batch: HostStateBatch) -> None:
        """Push changed host states to all schedulers (fanout); a sequence gap reveals losses."""
        self._cast(context, "update_host_states", fanout=True, batch=batch)

    def update_facts(self, context: RequestContext, facts: dict[str, Any]) -> None:
        """Push cells and aggregates to all schedulers (fanout).

        See SuperConductorAPI.get_facts.
        """
        self._cast(context, "update_facts", fanout=True, facts=facts)

    # Incremental updates, since 1.1; older schedulers wait for the pushed states and metadata.

    def update_aggregates(
        self, context: RequestContext, aggregates: Sequence[Aggregate], *, seq: int | None = None
    ) -> None:
        """Send new and changed aggregates to all schedulers (fanout).

        ``seq`` is the metadata version to which this is the complete change. None means that the
        sender does not number its changes; they then apply until the next full metadata.
        """
        if self.can_send("1.1"):
            self._fan_out(context, "update_aggregates", aggregates=list(aggregates), seq=seq)

    def delete_aggregate(
        self, context: RequestContext, aggregate: str, *, seq: int | None = None
    ) -> None:
        """Report a deleted aggregate, by UUID, to all schedulers (fanout); ``seq`` as above.

        Idempotent.
        """
        if self.can_send("1.1"):
            self._fan_out(context, "delete_aggregate", aggregate=aggregate, seq=seq)

    def update_instance_info(self, context: RequestContext, hosts: InstancesOfHosts) -> None:
        """Report instances added to hosts to all schedulers (fanout).

        This and ``delete_instance_info`` apply until the next push of the host's state.
        """
        if self.can_send("1.1"):
            self._fan_out(context, "update_instance_info", hosts=_plain(hosts))

    def delete_instance_info(self, context: RequestContext, hosts: InstancesOfHosts) -> None:
        """Report instances removed from hosts to all schedulers (fanout)."""
        if self.can_send("1.1"):
            self._fan_out(context, "delete_instance_info", hosts=_plain(hosts))

    def sync_instance_info(self, context: RequestContext, hosts: InstancesOfHosts) -> None:
        """Send the complete instance lists of hosts to all schedulers (fanout), to detect gaps."""
        if self.can_send("1.1"):
            self._fan_out(context, "sync_instance_info", hosts=_plain(hosts))

    def _fan_out(self, context: RequestContext, method: str, **arguments: Any) -> None:
        self._cast(context, method, version="1.1", fanout=True, **arguments)


def _plain(hosts: InstancesOfHosts) -> dict[str, list[str]]:
    return {host: list(uuids) for host, uuids in hosts.items()}
