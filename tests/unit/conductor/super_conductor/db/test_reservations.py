"""Tests of storing reservations."""

from conductor.super_conductor.db import build_requests, reservations
from conductor.super_conductor.db.reservations import Stage
from objects.instances.new_servers import NewServers
from tests.fixtures.control_plane import ControlPlane, a_user


def reservation_of(plane: ControlPlane) -> str:
    return plane.acceptance.accept(a_user(), NewServers("web", "small")).answer.reservation_id


def test_a_reservation_is_found_as_it_was_stored(plane: ControlPlane) -> None:
    """Nothing was decided yet."""
    key = reservation_of(plane)
    found = plane.database.read(reservations.find_reservation, key)
    assert found is not None
    assert (found.stage, found.failure, found.verdict) == (Stage.SCHEDULING, None, {})
    assert found.context.project_id == "p1"


def test_a_reservation_is_removed_with_the_last_of_its_build_requests(plane: ControlPlane) -> None:
    """Not before; a second time is fine."""
    key = reservation_of(plane)
    with plane.database.writer() as session:
        assert not reservations.delete_if_empty(session, key)
        uuids = [one.instance_uuid for one in build_requests.list_pending(session, key)]
        build_requests.delete_build_requests(session, uuids)
        assert reservations.delete_if_empty(session, key)
        assert reservations.delete_if_empty(session, key)
        assert reservations.find_reservation(session, key) is None
