"""Requests of parent zones at the border."""

from pathlib import Path

import pytest

from armillary import exception
from conductor.super_conductor.zones.interface import ZoneAPI
from objects.zones.zone_query import ZoneQuery
from tests.fixtures.control_plane import a_user
from tests.fixtures.zones import zone_tree
from tests.fleets import a_request_spec


@pytest.mark.parametrize("seconds", [0.0, -1.0, 1e9, float("nan"), float("inf")])
def test_no_query_keeps_threads_for_as_long_as_its_sender_likes(
    tmp_path: Path, seconds: float
) -> None:
    """A parent could take up all threads of a zone below which another one is silent."""
    query = ZoneQuery.from_values(
        request_id="req-1", visited=["root"], request_spec=a_request_spec(), instance_uuids=[],
        entries_max=1, time_limit_seconds=seconds, profile="default",
    )  # fmt: skip
    with zone_tree(tmp_path) as root:
        child = next(zone for zone in root.all_zones() if zone.name == "eu")
        with pytest.raises(exception.Invalid, match="time limit"):
            ZoneAPI(root.bus_to(child)).select_hosts(a_user(), query, timeout_seconds=10)
