"""Say in the log where instances go: a line for all that were decided together."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from scheduler.decision import Decision

LOG = logging.getLogger(__name__)

_NAMED_MAX = 100
"""Requests or instances in one line."""


def log(decisions: Sequence[Decision]) -> None:
    """Log what was placed: one instance with its host, more with their count and whose they are.

    Where each of those goes is said at DEBUG, and by the trace of its request.
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
        assert decision.board is not None
        hosts = decision.board.chooser.hosts
        for wanted, offers in zip(decision.instances, decision.offers, strict=True):
            host = hosts.value("host", wanted.position)
            yield "%s: goes to %s, %d alternates", wanted.instance_uuid, host, len(offers) - 1
