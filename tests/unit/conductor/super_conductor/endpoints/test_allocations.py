"""Tests of what the API asks about allocations, over messages."""

from tests import builders
from tests.fixtures.control_plane import RunningConductor, an_admin


def test_allocations_are_as_placement_has_them(running: RunningConductor) -> None:
    """With the totals of all."""
    consumer = builders.a_uuid()
    running.placement.held[consumer] = {"n1"}
    answer = running.api.list_allocations(an_admin())
    assert [each.consumer_uuid for each in answer.allocations] == [consumer]
    assert answer.totals.consumers == 1
