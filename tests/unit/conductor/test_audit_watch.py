"""The audit that a super conductor does by itself: what it counts, and that it releases nothing."""

from __future__ import annotations

import logging
import time

import pytest

from armillary import measures
from conductor.audit_watch import MIN_AGE, AuditWatch
from conductor.orphans import Orphans
from tests import builders
from tests.fixtures.placement import placement_template, placement_url
from tests.fixtures.placement_repair import AWAY, Cloud, cloud

__all__ = ["cloud", "placement_template", "placement_url"]


@pytest.fixture
def watch(cloud: Cloud) -> AuditWatch:
    """Return what looks, long after all that a test wrote to placement."""
    parts = cloud.plane.parts
    orphans = Orphans(cloud.plane.database, parts.cells, parts.cell0)
    later = MIN_AGE.total_seconds() + 60
    return AuditWatch(parts.placement, orphans, lambda: time.time() + later)


def shown(verdict: str) -> float:
    """Return what the metric says."""
    return float(measures.AUDITED.here.labels(verdict)._value.get())


def test_what_is_nobodys_is_counted_and_stays(
    cloud: Cloud, watch: AuditWatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Servers and moves; each is said once."""
    server = cloud.add_server()
    orphan, move = builders.a_uuid(), builders.a_uuid()
    cloud.hold(server.uuid)
    cloud.hold(orphan)
    cloud.hold(move, consumer_type="MIGRATION")
    caplog.set_level(logging.WARNING)
    watch.run()
    watch.run()
    assert (shown("orphaned"), shown("foreign"), shown("unsure")) == (2, 0, 0)
    assert set(cloud.held()) == {server.uuid, orphan, move}
    assert [caplog.text.count(uuid) for uuid in (server.uuid, orphan, move)] == [0, 1, 1]


def test_what_was_released_meanwhile_counts_no_more(cloud: Cloud, watch: AuditWatch) -> None:
    """The metric is of the last look."""
    orphan = builders.a_uuid()
    cloud.hold(orphan)
    watch.run()
    assert shown("orphaned") == 1
    cloud.engine.claims.release({orphan: 7})
    watch.run()
    assert shown("orphaned") == 0


def test_without_placement_it_waits_for_its_next_turn(cloud: Cloud, watch: AuditWatch) -> None:
    """The periodic task goes on."""
    cloud.bus.fail("list_allocations", AWAY)
    assert watch.run() is None
    found = watch.run()
    assert found is not None
    assert found.looked_at == 0
