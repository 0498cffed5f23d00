"""A host is in the zones of its aggregates, or else in the default one."""

import pytest

from scheduler.filters.availability_zone_filter import AvailabilityZoneFilter
from tests.builders import an_aggregate
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf, some_cluster_metadata

AGGREGATES = [
    an_aggregate("north", hosts=["in-north"], metadata={"availability_zone": "north, east"}),
    an_aggregate("plain", hosts=["in-plain"], metadata={"disk": "ssd"}),
]


@pytest.mark.parametrize(
    ("asked", "host", "passes"),
    [
        (None, "in-north", True),
        ("north", "in-north", True),
        ("east", "in-north", True),
        ("north, east", "in-north", True),
        ("south", "in-north", False),
        ("north", "in-plain", False),
        ("nova", "in-north", False),
        ("nova", "in-plain", True),
        ("nova", "alone", True),
    ],
)
def test_a_host_passes_in_its_zones(asked: str | None, host: str, passes: bool) -> None:
    """A request for no zone may go anywhere, one for the default zone only to hosts without one."""
    each = AvailabilityZoneFilter(scheduling_conf())
    spec = a_request_spec(availability_zone=asked)
    table = a_table([a_host(host)], cluster_metadata=some_cluster_metadata(AGGREGATES))
    assert each.host_passes(table[0], spec) is passes
    assert each.host_mask(table, spec).tolist() == [passes]


def test_the_reason_names_the_zone() -> None:
    """That was asked for."""
    each = AvailabilityZoneFilter(scheduling_conf())
    spec = a_request_spec(availability_zone="north")
    assert each.explain(a_table([a_host()])[0], spec) == "is not in availability zone north"
