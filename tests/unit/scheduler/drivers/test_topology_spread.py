"""Members of a server group are spread over racks, within one request and over several."""

from collections import Counter
from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from objects.aggregate import Aggregate
from objects.destinations import Destinations
from objects.instances.instance_group import InstanceGroup
from scheduler.drivers.filter_scheduler import FilterScheduler
from tests.builders import a_uuid
from tests.fleets import (
    ArrayPlacement,
    Host,
    a_driver,
    a_fleet,
    a_group,
    a_host,
    a_request_spec,
    scheduling_conf,
    some_cluster_metadata,
)

RACKS = {"r1": ("a1", "a2", "a3"), "r2": ("b1", "b2"), "r3": ("c1",)}
RACK_OF = {host: rack for rack, hosts in RACKS.items() for host in hosts}


def fleet_of(**vcpus: int) -> list[Host]:
    return [a_host(name, vcpus_total=vcpus.get(name, 16)) for name in RACK_OF]


def scheduler_over(
    hosts: list[Host],
    racks: dict[str, tuple[str, ...]] | None = None,
    zones: dict[str, str] | None = None,
    **options: Any,
) -> FilterScheduler:
    """Return one with racks, of which ``zones`` names the availability zones of some."""
    aggregates = [
        Aggregate.from_values(
            uuid=a_uuid(), name=f"{key}-{rack}", metadata={key: name}, hosts=list(members)
        )
        for rack, members in (racks or RACKS).items()
        for key, name in (("rack", rack), ("availability_zone", (zones or {}).get(rack)))
        if name is not None
    ]
    conf = scheduling_conf(**options)
    fleet = a_fleet(hosts, cluster_metadata=some_cluster_metadata(aggregates=aggregates), conf=conf)
    return a_driver(hosts, placement=ArrayPlacement(hosts), fleet=fleet, conf=conf)


def a_spread(policy: str = "spread", **rules: str) -> InstanceGroup:
    return a_group(policy, rules={"topology_key": "rack", **rules})


def place(
    driver: FilterScheduler, group: InstanceGroup, count: int = 1, zone: str | None = None
) -> list[str]:
    return [row[0] for row in lists(driver, group, count, zone)]


def lists(
    driver: FilterScheduler, group: InstanceGroup, count: int = 1, zone: str | None = None
) -> list[list[str]]:
    """Return for each instance its host, then its alternates."""
    found = driver.select_destinations(
        admin_context(None),
        a_request_spec(instance_group=group.obj_clone(), availability_zone=zone),
        [a_uuid() for _ in range(count)],
        fences=[1000] * count,
        return_alternates=True,
        dry_run=False,
    )
    assert isinstance(found, Destinations)
    return [[each.service_host for each in row] for row in found.selections()]


def racks_of(hosts: list[str]) -> Counter[str]:
    return Counter(RACK_OF[host] for host in hosts)


@pytest.mark.parametrize("policy", ["spread", "soft-spread"])
def test_racks_have_equal_shares_whatever_their_size(policy: str) -> None:
    """Seven members on three racks: two or three on each, though one rack has a single host."""
    found = racks_of(place(scheduler_over(fleet_of()), a_spread(policy), 7))
    assert sorted(found.values()) == [2, 2, 3]


def test_requests_one_after_the_other_see_each_other() -> None:
    """Each has one member; placement says where the others are."""
    driver, group = scheduler_over(fleet_of()), a_spread()
    found = racks_of([host for _ in range(6) for host in place(driver, group)])
    assert sorted(found.values()) == [2, 2, 2]


@pytest.mark.parametrize("count", [1, 3])
def test_alternates_are_in_the_rack_of_the_host(count: int) -> None:
    """A build that moves on within its rack leaves the spread as it was; one host has none."""
    sizes = {"r1": 3, "r2": 2, "r3": 1}
    for row in lists(scheduler_over(fleet_of()), a_spread(), count):
        (rack,) = racks_of(row)
        assert len(row) == min(sizes[rack], 3)


def test_alternates_of_the_soft_policy_are_anywhere() -> None:
    """A server that runs is better than one that is spread."""
    ((host, *others),) = lists(scheduler_over(fleet_of()), a_spread("soft-spread"))
    assert RACK_OF[host] not in racks_of(others) or len(racks_of(others)) > 1


def test_a_greater_skew_leaves_the_choice_to_the_other_weighers() -> None:
    """The rack with the largest hosts may have two members more than the others."""
    driver = scheduler_over(fleet_of(a1=64), filter_scheduler__io_ops_weight_multiplier=0.0)
    found = racks_of(place(driver, a_spread(max_skew="2"), 2))
    assert found == {"r1": 2}


def test_a_full_rack_is_not_forgotten() -> None:
    """The hard policy refuses what would exceed the skew, the soft one places it all the same."""
    driver = scheduler_over(fleet_of(c1=1))
    assert len(place(driver, a_spread(), 5)) == 5
    with pytest.raises(exception.NoValidHost, match=r"rack|TopologySpreadFilter"):
        place(scheduler_over(fleet_of(c1=1)), a_spread(), 6)
    found = racks_of(place(scheduler_over(fleet_of(c1=1)), a_spread("soft-spread"), 7))
    assert found == {"r1": 3, "r2": 3, "r3": 1}


@pytest.mark.parametrize("policy", ["spread", "soft-spread"])
def test_racks_of_other_zones_count_if_the_default_zone_is_asked_for(policy: str) -> None:
    """Such a request may use all hosts, unless a filter keeps it to those without a zone."""
    zones = {"r2": "east", "r3": "east"}
    found = racks_of(place(scheduler_over(fleet_of(), zones=zones), a_spread(policy), 6, "nova"))
    assert sorted(found.values()) == [2, 2, 2]
    enabled = [*scheduling_conf().filter_scheduler.enabled_filters, "AvailabilityZoneFilter"]
    strict = scheduler_over(fleet_of(), zones=zones, filter_scheduler__enabled_filters=enabled)
    assert racks_of(place(strict, a_spread(policy), 6, "nova")) == {"r1": 6}


def test_a_rack_whose_hosts_are_down_does_not_count() -> None:
    """Nothing could be placed there, however long one waits."""
    hosts = [*fleet_of()[:-1], a_host("c1", service_up=False)]
    found = racks_of(place(scheduler_over(hosts), a_spread(), 4))
    assert found == {"r1": 2, "r2": 2}


def test_hosts_without_a_rack_are_for_the_soft_policy_alone() -> None:
    """And it takes them last."""
    racks = {"r1": RACKS["r1"]}
    hosts = [a_host("a1", vcpus_total=2), a_host("c1", vcpus_total=64)]
    with pytest.raises(exception.NoValidHost):
        place(scheduler_over(hosts, racks), a_spread(), 3)
    assert Counter(place(scheduler_over(hosts, racks), a_spread("soft-spread"), 3)) == {
        "a1": 2, "c1": 1,
    }  # fmt: skip


def test_a_refusal_names_the_rack_and_the_numbers() -> None:
    """The operator reads why."""
    with pytest.raises(exception.NoValidHost) as caught:
        place(scheduler_over(fleet_of(c1=1)), a_spread(), 6)
    assert "its rack has" in str(caught.value.kwargs["trace"])


def test_a_projects_servers_spread_over_hosts() -> None:
    """Reported ones and those of the request count; no host is ruled out."""
    hosts = [
        a_host("host1", stats={"num_proj_p1": 2}, vcpus_total=64),
        a_host("host2", stats={"num_proj_p2": 9}),
        a_host("host3", stats={"num_proj_p1": 1}),
    ]
    driver = a_driver(
        hosts, conf=scheduling_conf(filter_scheduler__project_spread_weight_multiplier=100.0)
    )
    found = driver.select_destinations(
        admin_context(None), a_request_spec(), [a_uuid() for _ in range(6)],
        fences=[1000] * 6, return_alternates=False, dry_run=False,
    )  # fmt: skip
    chosen = Counter(row[0].service_host for row in found.selections())
    assert chosen == {"host1": 1, "host2": 3, "host3": 2}
