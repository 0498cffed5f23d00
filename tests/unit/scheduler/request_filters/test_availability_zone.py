"""A zone becomes the aggregates that name it."""

import pytest

from armillary import exception
from scheduler import request_filters
from scheduler.request_filters.availability_zone import AvailabilityZone
from tests.builders import an_aggregate
from tests.fleets import a_request_spec, scheduling_conf, some_cluster_metadata

NORTH_1 = an_aggregate("n1", metadata={"availability_zone": "north"})
NORTH_2 = an_aggregate("n2", metadata={"availability_zone": "north"})
SOUTH = an_aggregate("s", metadata={"availability_zone": "south"})
ROOM = an_aggregate("r", metadata={"availability_zone": "room 1, row 2"})
PLAIN = an_aggregate("p", metadata={"disk": "north"})


def member_of(zone: str | None) -> list[list[str]]:
    spec = a_request_spec(availability_zone=zone)
    each = AvailabilityZone(scheduling_conf())
    request_filters.apply_all(
        [each], spec, some_cluster_metadata([NORTH_1, SOUTH, NORTH_2, ROOM, PLAIN])
    )
    assert spec.request_level_params is not None
    return spec.request_level_params.member_of


def test_a_zone_is_any_of_its_aggregates() -> None:
    """And none of the others."""
    assert member_of("north") == [[NORTH_1.uuid, NORTH_2.uuid]]


@pytest.mark.parametrize("zone", ["room 1, row 2", "row 2"])
def test_the_name_of_a_zone_may_have_commas(zone: str) -> None:
    """Requests have it as zones are listed, whole."""
    assert member_of(zone) == [[ROOM.uuid]]


@pytest.mark.parametrize("zone", [None, "nova"])
def test_no_zone_and_the_default_zone_do_not_restrict(zone: str | None) -> None:
    """The default zone's hosts are in no aggregate that could be asked for."""
    assert member_of(zone) == []


def test_a_zone_that_no_aggregate_names_fails_the_request() -> None:
    """It is not taken for any host at all."""
    with pytest.raises(exception.RequestFilterFailed, match="availability zone west"):
        member_of("west")
