"""Tests of what the API asks about aggregates, over messages; each change is told to placement."""

from __future__ import annotations

import pytest

from armillary import exception
from tests.fixtures.control_plane import RunningConductor, an_admin


def test_an_aggregate_comes_changes_and_goes(running: RunningConductor) -> None:
    """Its hosts' nodes are its members in placement, at each moment."""
    api, admin, placement = running.api, an_admin(), running.placement
    running.run_task("discover-hosts")
    made = api.create_aggregate(admin, "rack", None)
    assert placement.aggregates == {made.uuid: []}
    api.add_aggregate_host(admin, str(made.id), "host1")
    assert placement.aggregates == {made.uuid: [running.cell.nodes[0].uuid]}
    changed = api.update_aggregate(admin, made.uuid, {"metadata": {"availability_zone": "east"}})
    assert changed.availability_zone == "east"
    assert [zone["name"] for zone in api.list_availability_zones(admin)] == ["east", "nova"]
    assert api.get_aggregate(admin, made.uuid).hosts == ["host1"]
    api.remove_aggregate_host(admin, made.uuid, "host1")
    assert placement.aggregates == {made.uuid: []}
    assert [one.uuid for one in api.list_aggregates(admin)] == [made.uuid]
    api.delete_aggregate(admin, made.uuid)
    with pytest.raises(exception.AggregateNotFound):
        api.get_aggregate(admin, made.uuid)
