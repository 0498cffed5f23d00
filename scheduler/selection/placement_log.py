"""Log lines about placed instances."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from scheduler.selection.decision import Decision

LOG = logging.getLogger(__name__)

_NAMED_MAX = 100
"""Maximum number of requests in one line."""


def log(decisions: Sequence[Decision]) -> None:
    """Log placements: a single instance with its host, several with their count and requests.

    The host of each instance is logged at DEBUG, and is in the trace of its request.
    """
    if not decisions:
        return
    placed = sum(len(each.instances) for each in decisions)
    if placed == 1:
        LOG.info(*next(_each(decisions)))
        return
    ids = [each.context.request_id or each.instances[0].instance_uuid for each in decisions]
    more = "" if len(ids) <= _NAMED_MAX else f" and {len(ids) - _NAMED_MAX:,} more"
    LOG.info("%d instances placed: %s%s", placed, ", ".join(ids[:_NAMED_MAX]), more)
    if LOG.isEnabledFor(logging.DEBUG):
        for line in _each(decisions):
            LOG.debug(*line)


def _each(decisions: Sequence[Decision]) -> Iterator[tuple[object, ...]]:
    for decision in decisions:
        assert decision.batch is not None
        hosts = decision.batch.selector.hosts
        for wanted, offers in zip(decision.instances, decision.offers, strict=True):
            host = hosts.value("host", wanted.position)
            yield "%s: placed on %s, %d alternates", wanted.instance_uuid, host, len(offers) - 1
