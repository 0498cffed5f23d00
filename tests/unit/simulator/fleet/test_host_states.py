"""The truth about simulated hosts, and what their cells push of it."""

from pathlib import Path

import pytest

from objects.hosts.host_attributes import HOST_ATTRIBUTES
from simulator.fleet.host_report import aggregates_of
from simulator.fleet.host_states import HostStates, PlacedInstance
from tests.builders import a_uuid
from tests.fixtures.fleets.simulations import a_scenario, some_hosts


@pytest.fixture
def book(tmp_path: Path) -> HostStates:
    """Return the book of two hosts of 8 vCPUs, 1 GiB of 8 reserved, a ratio of 2 for vCPUs."""
    hosts = some_hosts(
        "h-{1..2}", zone="z1", aggregates=["ssd"], reserved={"memory_mb": 1024},
        allocation_ratios={"vcpus": 2},
    )  # fmt: skip
    return HostStates(a_scenario(tmp_path, hosts=[hosts], aggregates={"ssd": {"disk": "ssd"}}))


def a_tenant(book: HostStates, **resources: int) -> PlacedInstance:
    return PlacedInstance(a_uuid(), "small", "p1", book.amounts_of(resources), ["os=linux"])


def test_capacity_is_what_can_be_given_away(book: HostStates) -> None:
    """Without the reserve, times the ratio."""
    assert book.classes == ["VCPU", "MEMORY_MB", "DISK_GB"]
    assert book.capacity[0].tolist() == [16, 7168, 100]


def test_attributes_follow_what_is_on_the_host(book: HostStates) -> None:
    """As an agent reports them; the reserve counts as used."""
    host = book.hosts[1]
    tenant = a_tenant(book, VCPU=2, MEMORY_MB=512, DISK_GB=10)
    book.enter(host, tenant)
    columns = {name: values[0] for name, values in book.columns([host]).items()}
    assert columns.keys() == {attribute.name for attribute in HOST_ATTRIBUTES}
    assert columns["vcpus_used"] == 2
    assert columns["free_ram_mb"] == 8192 - 1024 - 512
    assert columns["free_disk_mb"] == 90 * 1024
    assert columns["num_io_ops"] == 1
    assert columns["instance_uuids"] == [tenant.uuid]
    assert columns["instance_flavors"] == {"small": 1}
    assert columns["instance_image_properties"] == {"os=linux": 1}
    book.built(host, tenant)
    assert book.columns([host])["num_io_ops"] == [0]


def test_an_instance_that_left_leaves_nothing(book: HostStates) -> None:
    """All attributes are as before; a failed build counts until one succeeds."""
    host = book.hosts[0]
    before = book.columns([host])
    tenant = a_tenant(book, VCPU=2)
    book.enter(host, tenant)
    book.leave(host, tenant, is_failed=True)
    assert book.columns([host])["failed_builds"] == [1]
    tenant = a_tenant(book, VCPU=2)
    book.enter(host, tenant)
    book.built(host, tenant)
    book.leave(host, tenant)
    assert book.columns([host]) == before
    assert not book.used.any()


def test_a_host_is_never_over_its_capacity(book: HostStates) -> None:
    """Neither is it let in, nor does it fit."""
    host = book.hosts[0]
    book.enter(host, a_tenant(book, VCPU=16))
    one_more = a_tenant(book, VCPU=1)
    assert not book.has_room(host, one_more.amounts)
    with pytest.raises(AssertionError):
        book.enter(host, one_more)


def test_zones_and_aggregates_have_their_hosts(book: HostStates) -> None:
    """A zone is an aggregate that names it."""
    ssd, zone = aggregates_of(book.hosts, {"ssd": {"disk": "ssd"}})
    assert (ssd.name, ssd.metadata, ssd.hosts) == ("ssd", {"disk": "ssd"}, ["h-1", "h-2"])
    assert (zone.name, zone.availability_zone) == ("z1", "z1")


def test_hosts_have_the_same_uuids_each_time(book: HostStates, tmp_path: Path) -> None:
    """By their names: the answer must not depend on chance."""
    again = HostStates(a_scenario(tmp_path, hosts=[some_hosts("h-{1..2}")]))
    assert [host.uuid for host in again.hosts] == [host.uuid for host in book.hosts]
