"""Quotas whose usage is counted from placement."""

import oslo_messaging
import pytest

from armillary import exception
from conductor.super_conductor.accept.acceptance import Acceptance
from conductor.super_conductor.accept.placed_usage import READS_MAX, PlacedUsageReader
from conductor.super_conductor.accept.quotas import QuotasEndpoint
from conductor.super_conductor.db import instance_mappings, models
from conductor.super_conductor.db.catalogue import quotas as quotas_db
from objects.instances.new_servers import NewServers
from tests.fixtures.control_plane import NOW, PROJECT, ControlPlane, a_user

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
    counted.placement.project_usage = {
        "a": {"VCPU": 1, "MEMORY_MB": 300}, "b": {"PCPU": 1, "MEMORY_MB": 400, "DISK_GB": 9}
    }  # fmt: skip
    assert in_use(counted) == {"instances": 2, "cores": 2, "ram": 700}


def test_what_holds_nothing_does_not_count(counted: ControlPlane) -> None:
    """Such as servers that were offloaded."""
    counted.build(3, flavor="one")
    counted.placement.project_usage = {"a": {"VCPU": 3}}
    with pytest.raises(exception.QuotaExceeded):
        counted.create(flavor="one")
    counted.placement.project_usage = {"a": {"VCPU": 2}}
    assert len(counted.create(flavor="one")) == 1


def another_conductor(plane: ControlPlane) -> Acceptance:
    reader = PlacedUsageReader(plane.conf, plane.database, plane.peers.placement)
    return Acceptance(
        plane.conf, plane.database, plane.builds.leases, now=plane.clock, placed_usage=reader
    )


def claimed(plane: ControlPlane, uuids: list[str]) -> None:
    """Have placement hold what these servers need."""
    for uuid in uuids:
        plane.placement.project_usage[uuid] = {"VCPU": VCPUS, "MEMORY_MB": MEMORY_MB}


def test_a_server_that_has_its_allocation_and_no_cell_yet_counts_once(
    counted: ControlPlane,
) -> None:
    """Its allocation is claimed before it is handed to its cell."""
    uuids = counted.create(2, flavor="one")
    claimed(counted, uuids[:1])
    assert in_use(counted) == {"instances": 2, "cores": 2, "ram": 2 * MEMORY_MB}
    counted.workers.work()
    claimed(counted, uuids)
    assert in_use(counted) == {"instances": 2, "cores": 2, "ram": 2 * MEMORY_MB}


def test_an_attempt_of_this_zone_at_a_server_counts_with_the_server(counted: ControlPlane) -> None:
    """Before and after it has a cell; so does what is placed between the two reads."""
    uuids = counted.create(2, flavor="one")
    with counted.database.writer() as session:
        session.add(
            models.ZoneAttempt(
                instance_uuid=uuids[0], attempt=1, origin="", local_uuid=uuids[1],
                is_cancelled=False, parent="", created_at=NOW,
            )
        )  # fmt: skip
    claimed(counted, uuids[1:])
    expected = {"instances": 1, "cores": 1, "ram": MEMORY_MB}
    assert in_use(counted) == expected
    cell_uuid = next(iter(counted.cells))

    def place() -> None:
        with counted.database.writer() as session:
            instance_mappings.map_to_cell(session, uuids[1:], cell_uuid)

    counted.bus.meanwhile("get_project_usage", place)
    assert in_use(counted) == expected
    assert in_use(counted) == expected


def test_an_offloaded_server_counts_from_the_request_to_unshelve_it(counted: ControlPlane) -> None:
    """Else a project could offload, fill its quota, and unshelve."""
    kept, *offloaded = counted.build(3, flavor="one")
    (cell,) = counted.cells.values()
    for uuid in offloaded:
        cell.instances[uuid].vm_state, cell.instances[uuid].host = "shelved_offloaded", None
    counted.placement.project_usage = {kept: {"VCPU": 2, "MEMORY_MB": MEMORY_MB}}
    first, second = offloaded
    counted.operate(first, "unshelve")
    assert in_use(counted) == {"instances": 3, "cores": 3, "ram": 2 * MEMORY_MB}
    with pytest.raises(exception.QuotaExceeded, match="cores"):
        counted.operate(second, "unshelve")
    claimed(counted, [first])
    assert in_use(counted)["cores"] == 3
    counted.workers.work()
    assert in_use(counted)["cores"] == 3


@pytest.mark.parametrize("is_placed", [False, True], ids=["claimed", "placed"])
@pytest.mark.parametrize(("others", "fits"), [(2, True), (3, False)])
def test_a_request_that_another_one_overtook_counts_it_once(
    counted: ControlPlane, others: int, fits: bool, is_placed: bool
) -> None:
    """Placement may or may not have counted it, so placement is asked again."""
    other = another_conductor(counted)

    def accept() -> None:
        accepted = other.accept(a_user(), NewServers("web", "one", min_count=others))
        assert accepted.lease is not None
        if is_placed:
            counted.builds.begin(accepted.lease)
            counted.workers.work()
        claimed(counted, accepted.answer.instance_uuids)

    counted.bus.meanwhile("get_project_usage", accept)
    if fits:
        assert len(counted.create(flavor="one")) == 1
        return
    with pytest.raises(exception.QuotaExceeded):
        counted.create(flavor="one")
    with counted.database.reader() as session:
        assert quotas_db.count_usage(session, PROJECT)["instances"] == 3


def test_requests_that_never_cease_are_counted_in_full(counted: ControlPlane) -> None:
    """Then a request may be refused that would fit, but none is accepted that does not."""
    counted.conf.set_override("cores", 100, group="quota")
    other = another_conductor(counted)
    reads: list[int] = []

    def accept_again() -> None:
        reads.append(len(reads))
        counted.bus.meanwhile("get_project_usage", lambda: None)  # for the other conductor's read
        counted.bus.meanwhile("get_project_usage", accept_again)
        other.accept(a_user(), NewServers("web", "one"))

    counted.bus.meanwhile("get_project_usage", accept_again)
    assert len(counted.create(flavor="one")) == 1
    assert len(reads) == READS_MAX


def test_without_placement_nothing_is_accepted(counted: ControlPlane) -> None:
    """The user is told to try again; what is there is not touched."""
    counted.bus.fail("get_project_usage", oslo_messaging.MessagingTimeout("no answer"))
    with pytest.raises(exception.Unavailable):
        counted.create(flavor="one")
    assert len(counted.create(flavor="one")) == 1
