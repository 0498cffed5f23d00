"""Quotas whose usage is counted from placement."""

from __future__ import annotations

import oslo_messaging
import pytest

from armillary import exception
from conductor.super_conductor.accept.acceptance import Acceptance
from conductor.super_conductor.accept.placed_usage import PlacedUsageReader
from conductor.super_conductor.accept.quotas import QuotasEndpoint
from conductor.super_conductor.db.catalogue import quotas as quotas_db
from objects.instances.new_servers import NewServers
from tests.fixtures.control_plane import PROJECT, ControlPlane, a_user

VCPUS, MEMORY_MB = 1, 512


@pytest.fixture
def counted(plane: ControlPlane) -> ControlPlane:
    """Lend a control plane that counts so; a project may have three cores."""
    plane.conf.set_override("count_usage_from_placement", True, group="quota")
    plane.conf.set_override("cores", 3, group="quota")
    plane.add_flavor("one", vcpus=VCPUS, memory_mb=MEMORY_MB)
    return plane


def in_use(plane: ControlPlane) -> dict[str, int]:
    reader = PlacedUsageReader(plane.conf, plane.database, plane.peers.placement)
    found = QuotasEndpoint(plane.conf, plane.database, reader).get_quotas(a_user(), PROJECT)
    return {name: found[name]["in_use"] for name in ("instances", "cores", "ram")}


def test_cores_and_memory_are_those_of_placement(counted: ControlPlane) -> None:
    """M04: a server counts by its flavor until it is placed; instances come from the mappings."""
    counted.create(2, flavor="one")
    assert in_use(counted) == {"instances": 2, "cores": 2, "ram": 2 * MEMORY_MB}
    counted.workers.work()
    counted.placement.project_usage = {"VCPU": 1, "PCPU": 1, "MEMORY_MB": 700, "DISK_GB": 9}
    assert in_use(counted) == {"instances": 2, "cores": 2, "ram": 700}


def test_what_holds_nothing_does_not_count(counted: ControlPlane) -> None:
    """Such as servers that were offloaded."""
    counted.build(3, flavor="one")
    counted.placement.project_usage = {"VCPU": 3}
    with pytest.raises(exception.QuotaExceeded):
        counted.create(flavor="one")
    counted.placement.project_usage = {"VCPU": 2}
    assert len(counted.create(flavor="one")) == 1


def test_a_request_that_another_one_overtook_counts_the_larger(counted: ControlPlane) -> None:
    """Servers that were accepted and placed since placement was read are missing in its answer."""
    reader = PlacedUsageReader(counted.conf, counted.database, counted.peers.placement)
    other = Acceptance(
        counted.conf, counted.database, counted.builds.leases,
        now=counted.clock, placed_usage=reader,
    )  # fmt: skip

    def accept_and_place() -> None:
        accepted = other.accept(a_user(), NewServers("web", "one", min_count=3))
        assert accepted.lease is not None
        counted.builds.begin(accepted.lease)
        counted.workers.work()

    counted.bus.meanwhile("get_project_usage", accept_and_place)
    with pytest.raises(exception.QuotaExceeded):
        counted.create(flavor="one")
    with counted.database.reader() as session:
        assert quotas_db.count_usage(session, PROJECT)["instances"] == 3


def test_without_placement_nothing_is_accepted(counted: ControlPlane) -> None:
    """The user is told to try again; what is there is not touched."""
    counted.bus.fail("get_project_usage", oslo_messaging.MessagingTimeout("no answer"))
    with pytest.raises(exception.Unavailable):
        counted.create(flavor="one")
    assert len(counted.create(flavor="one")) == 1
