"""Tests of what ``armillary-manage placement`` asks the super conductor, over messages."""

import pytest

from armillary import exception
from objects.repair_answers import OrphanSearch
from tests import builders
from tests.fixtures.control_plane import RunningConductor, an_admin


def test_consumers_are_told_apart(running: RunningConductor) -> None:
    """By who lives in a cell, and by whose host it is."""
    server, stranger = builders.an_instance(), builders.a_uuid()
    running.cell.instances[server.uuid] = server
    answer = running.api.find_orphans(an_admin(), {server.uuid: ["n1"], stranger: ("n1",)})
    assert answer == OrphanSearch(orphans=[], foreign=[stranger], unsure=[], down_cells=[])


def test_an_aggregate_that_is_not_there_is_an_error(running: RunningConductor) -> None:
    """One that callers can act on."""
    with pytest.raises(exception.AggregateNotFound):
        running.api.sync_aggregate(an_admin(), builders.a_uuid(), dry_run=True)
