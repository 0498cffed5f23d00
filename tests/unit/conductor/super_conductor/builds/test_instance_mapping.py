"""Mapping of the instances that a cell took, for many reservations in one transaction."""

import pytest

from conductor.common.leases import Lease
from conductor.super_conductor.builds import instance_mapping
from conductor.super_conductor.builds.instance_mapping import HeldReservation, MappingResult
from conductor.super_conductor.db import (
    build_requests,
    host_mappings,
    instance_mappings,
    reservations,
)
from objects.instances.build_request import BuildRequest
from objects.instances.new_servers import NewServers
from tests.fixtures.control_plane import ControlPlane, a_selection, a_user

REQUEST = NewServers("web", "small", min_count=2)


def accept(plane: ControlPlane) -> tuple[Lease, list[BuildRequest]]:
    """Return a reservation of two instances, each with a host of the only cell."""
    accepted = plane.acceptance.accept(a_user(), REQUEST)
    (cell,) = plane.cells.values()
    found = plane.database.read(
        build_requests.list_build_requests, [x.uuid for x in accepted.instances]
    )
    for one in found:
        one.selections = [a_selection(cell.nodes[0], cell.uuid)]
    assert accepted.lease is not None
    return accepted.lease, found


def map_to_cell(
    plane: ControlPlane, leases: list[Lease], taken: list[BuildRequest], *, may_have: bool = True
) -> MappingResult:
    held = {lease.key: HeldReservation(lease, a_user()) for lease in leases}
    (cell_uuid,) = plane.cells
    return plane.database.run_in_writer(
        instance_mapping.map_to_cell,
        plane.builds.leases,
        held,
        cell_uuid,
        taken,
        may_have=lambda cell, host: may_have,
    )


def cells(plane: ControlPlane, taken: list[BuildRequest]) -> list[str | None]:
    found = plane.database.read(
        instance_mappings.find_mappings, [one.instance_uuid for one in taken]
    )
    return [found[one.instance_uuid].cell_uuid for one in taken]


def test_reservations_of_which_all_is_mapped_are_closed(plane: ControlPlane) -> None:
    """One of which a part is elsewhere stays."""
    (one, all_of_one), (two, all_of_two) = accept(plane), accept(plane)
    taken = [*all_of_one, all_of_two[0]]
    done = map_to_cell(plane, [one, two], taken)
    assert (done.closed, done.lost, done.deleted) == ({one.key}, set(), [])
    assert cells(plane, taken) == [*plane.cells] * 3
    with plane.database.reader() as session:
        assert reservations.find_reservations(session, [one.key, two.key]).keys() == {two.key}


@pytest.mark.parametrize("may_have", [True, False])
def test_a_build_gives_a_cell_no_host_that_it_may_not_have(
    plane: ControlPlane, may_have: bool
) -> None:
    """The name is another cell's by its enrolment; the instances are mapped all the same."""
    lease, taken = accept(plane)
    host = taken[0].selections[0].service_host
    with plane.database.writer() as session:
        host_mappings.delete_host_mapping(session, host)
    map_to_cell(plane, [lease], taken, may_have=may_have)
    assert cells(plane, taken) == [*plane.cells] * len(taken)
    with plane.database.reader() as session:
        assert (host_mappings.find_host_mapping(session, host) is not None) is may_have


def test_what_was_deleted_meanwhile_is_to_be_deleted_in_the_cell(plane: ControlPlane) -> None:
    """It is mapped like the others, so that its delete finds it."""
    lease, taken = accept(plane)
    plane.delete(taken[1].instance_uuid)
    done = map_to_cell(plane, [lease], taken)
    assert done.deleted == [taken[1].instance_uuid]
    assert plane.left() == [f"cleanups: {taken[1].instance_uuid}"]


def test_a_reservation_that_is_not_ours_any_more_is_left_alone(plane: ControlPlane) -> None:
    """The other one is mapped."""
    (one, all_of_one), (two, all_of_two) = accept(plane), accept(plane)
    plane.clock.advance(60)
    taken_over = plane.database.run_in_writer(plane.builds.leases.take, two.key)
    assert taken_over is not None
    done = map_to_cell(plane, [one, two], [*all_of_one, *all_of_two])
    assert (done.closed, done.lost) == ({one.key}, {two.key})
    assert cells(plane, all_of_two) == [None, None]
