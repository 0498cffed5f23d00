"""Figures by which operators from elsewhere measure a filter scheduler, one by one."""

import itertools
from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from objects.destinations import Destinations
from objects.extra_specs import extra_spec_operators
from objects.request_spec import RequestSpec
from scheduler.drivers.filter_scheduler import FilterScheduler
from scheduler.filters.affinity.server_group_anti_affinity_filter import (
    ServerGroupAntiAffinityFilter,
)
from scheduler.filters.isolated_hosts_filter import IsolatedHostsFilter
from tests.builders import a_uuid, an_aggregate, an_image
from tests.fleets import (
    ArrayPlacement,
    a_driver,
    a_fleet,
    a_group,
    a_host,
    a_request_spec,
    a_table,
    scheduling_conf,
    some_cluster_metadata,
    some_hosts,
)

DISABLED = "COMPUTE_STATUS_DISABLED"


def select(
    driver: FilterScheduler, spec: RequestSpec | None = None, count: int = 1
) -> Destinations:
    return driver.select_destinations(
        admin_context("req-1"),
        spec or a_request_spec(),
        [a_uuid() for _ in range(count)],
        fences=[1] * count,
        return_alternates=False,
        dry_run=False,
    )


def chosen(found: Destinations) -> list[str]:
    return [row[0].service_host for row in found.selections()]


@pytest.mark.parametrize(
    ("value", "requirement", "holds"),
    [
        ("1", "= 1", True),
        ("1", "= 2", False),
        ("12310321", "<in> 11", False),
        ("v", "<or> a <or> v", True),
        ("5", ">=3", False),
        ("5", ">= 3", True),
        ("10", "s>= 9", False),
    ],
)
def test_operators_of_extra_specs(value: str, requirement: str, holds: bool) -> None:
    """Without the space there is no operator, and text is compared as text."""
    assert extra_spec_operators.matches(value, requirement) is holds


@pytest.mark.parametrize(("members", "passes"), [(0, True), (1, True), (2, False)])
def test_at_most_two_members_of_a_group_on_a_host(members: int, passes: bool) -> None:
    """With max_server_per_host 2; a member's own host is for itself always."""
    uuids = [a_uuid() for _ in range(members)]
    group = a_group("anti-affinity", members=uuids, rules={"max_server_per_host": "2"})
    state = a_table([a_host(instance_uuids=uuids)])[0]
    each = ServerGroupAntiAffinityFilter(scheduling_conf())
    new = a_request_spec(instance_group=group, instance_uuid=a_uuid())
    assert each.host_passes(state, new) is passes
    for uuid in uuids:
        assert each.host_passes(state, a_request_spec(instance_group=group, instance_uuid=uuid))


@pytest.mark.parametrize(
    ("is_host", "image", "restrict"),
    [*itertools.product([True, False], ["isolated", "other", None], [True, False])],
)
def test_isolated_hosts_and_images(is_host: bool, image: str | None, restrict: bool) -> None:
    """A request without an image has one that is not isolated."""
    ids = {"isolated": a_uuid(), "other": a_uuid()}
    conf = scheduling_conf(
        filter_scheduler__isolated_hosts=["host1"],
        filter_scheduler__isolated_images=[ids["isolated"]],
        filter_scheduler__restrict_isolated_hosts_to_isolated_images=restrict,
    )
    state = a_table([a_host("host1" if is_host else "host2")])[0]
    spec = a_request_spec(image=an_image(id=ids[image]) if image else None)
    expected = is_host if image == "isolated" else not (is_host and restrict)
    assert IsolatedHostsFilter(conf).host_passes(state, spec) is expected


def one_a_host(hosts: Any, placement: ArrayPlacement) -> FilterScheduler:
    conf = scheduling_conf(
        filter_scheduler__enabled_filters=["NumInstancesFilter"],
        filter_scheduler__max_instances_per_host=1,
    )
    return a_driver(hosts, placement=placement, conf=conf)


def test_three_instances_one_a_host_take_three_hosts() -> None:
    """One each."""
    hosts = some_hosts(3)
    found = select(one_a_host(hosts, ArrayPlacement(hosts)), count=3)
    assert sorted(chosen(found)) == ["host1", "host2", "host3"]


def test_three_instances_one_a_host_do_not_fit_on_two_hosts() -> None:
    """All or nothing: no allocation is left behind."""
    hosts = some_hosts(2)
    placement = ArrayPlacement(hosts)
    with pytest.raises(exception.NoValidHost):
        select(one_a_host(hosts, placement), count=3)
    assert placement.consumers == {}
    assert not placement.used.any()


def test_a_forced_host_that_is_disabled_is_not_a_host() -> None:
    """Filters are skipped, but placement does not offer it."""
    hosts = [a_host(service_disabled=True), a_host("host2")]
    placement = ArrayPlacement(hosts)
    placement.traits[hosts[0].uuid].add(DISABLED)
    driver = a_driver(hosts, placement=placement)
    with pytest.raises(exception.NoValidHost):
        select(driver, a_request_spec(force_hosts=["host1"]))
    placement.traits[hosts[0].uuid].clear()
    assert chosen(select(driver, a_request_spec(force_hosts=["host1"]))) == ["host1"]


def test_the_default_zone_without_aggregates_is_any_host() -> None:
    """And one in an aggregate of another zone is a host for it, too."""
    hosts = [a_host()]
    assert chosen(select(a_driver(hosts), a_request_spec(availability_zone="nova"))) == ["host1"]
    north = an_aggregate(hosts=["host1"], metadata={"availability_zone": "north"})
    driver = a_driver(hosts, fleet=a_fleet(hosts, cluster_metadata=some_cluster_metadata([north])))
    assert chosen(select(driver, a_request_spec(availability_zone="nova"))) == ["host1"]
