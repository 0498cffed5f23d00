"""Answers of scheduler drivers: selected hosts and alternates, or the reason for a failure."""

import logging
from collections.abc import Iterator, Sequence

import numpy as np

from armillary import exception
from armillary.context import log_context
from objects.allocations.allocation_candidates import AllocationRequest
from objects.destinations import Destinations
from objects.packed import unchecked
from objects.request_spec import SchedulerLimits
from objects.selection import Selection
from objects.traces.decision_trace import DecisionTrace
from scheduler.filters import LimitsOf, unlimited
from scheduler.hosts.host_table import HostTable
from scheduler.hosts.usage import RequestBuilder
from scheduler.selection.decision import Decision, Offer

LOG = logging.getLogger(__name__)

NO_HOST_KNOWN = "No host is known to this scheduler."


def no_request(candidate: int) -> AllocationRequest:
    """Return the empty allocation request of a driver that does not use placement."""
    return {}


def destinations(
    hosts: HostTable,
    offers: Sequence[Sequence[Offer]],
    *,
    default_zone: str,
    trace: DecisionTrace,
    request: RequestBuilder = no_request,
    limits_of: LimitsOf = unlimited,
    known: dict[Offer, Selection] | None = None,
) -> Destinations:
    """Return the response: for each instance the chosen offer, then its alternates.

    ``known`` caches selections, which several responses about the same hosts share.
    """
    known = {} if known is None else known
    selections: list[Selection] = []
    index_of: dict[Offer, int] = {}
    width = max(map(len, offers))
    choices = []
    for offered in offers:
        for offer in offered:
            if offer not in index_of:
                index_of[offer] = len(selections)
                position, candidate = offer
                if offer not in known:
                    known[offer] = _selection(
                        hosts, position, request(candidate), limits_of(position), default_zone
                    )
                selections.append(known[offer])
        indexes = [index_of[offer] for offer in offered]
        choices.append(indexes + [-1] * (width - len(indexes)))
    return unchecked.make(
        Destinations,
        hosts=selections,
        choices=np.array(choices, dtype=np.int64),
        trace=trace,
        zone_entries=[],
    )


def no_valid_host(trace: DecisionTrace) -> exception.NoValidHost:
    """Return the error for a request without a host, with its trace and the trace's sentence."""
    return exception.NoValidHost(reason=trace.sentence, trace=trace.obj_to_primitive())


def _selection(
    hosts: HostTable,
    position: int,
    allocation_request: AllocationRequest,
    limits: SchedulerLimits | None,
    default_zone: str,
) -> Selection:
    host = hosts.value("host", position)
    return unchecked.make(
        Selection,
        compute_node_uuid=hosts.value("uuid", position),
        service_host=host,
        nodename=hosts.value("nodename", position),
        cell_uuid=hosts.value("cell_uuid", position),
        allocation_request=allocation_request,
        limits=limits,
        availability_zone=hosts.cluster_metadata.zone_of(host, default_zone),
    )


def log_placements(decisions: Sequence[Decision]) -> None:
    """Log a line for each decision: a single instance with its host, several with their count.

    The host of each of several instances is logged at DEBUG, and is in the trace of its request.
    """
    for decision in decisions:
        with log_context(decision.context):
            decision.log_filter_results()
            _log_placement(decision)


def _log_placement(decision: Decision) -> None:
    count = len(decision.slots)
    if count == 1:
        LOG.info(*next(_lines(decision)))
        return
    LOG.info(
        "%s: %d instances placed on %d hosts; %s",
        decision.context.request_id or decision.slots[0].instance_uuid, count,
        len({slot.position for slot in decision.slots}), decision.trace.summary,
    )  # fmt: skip
    if LOG.isEnabledFor(logging.DEBUG):
        for line in _lines(decision):
            LOG.debug(*line)


def _lines(decision: Decision) -> Iterator[tuple[object, ...]]:
    assert decision.batch is not None
    hosts = decision.batch.selector.hosts
    for slot, offers in zip(decision.slots, decision.offers, strict=True):
        host = hosts.value("host", slot.position)
        yield (
            "%s: placed on %s, %d alternates; %s",
            slot.instance_uuid, host, len(offers) - 1, decision.trace.summary,
        )  # fmt: skip
