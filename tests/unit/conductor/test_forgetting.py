"""Tests of forgetting instances that are gone for long."""

from __future__ import annotations

import oslo_messaging

from conductor.api_db import instance_mappings, models, traces
from conductor.forgetting import Forgetting
from tests.fixtures.control_plane import ControlPlane

DAY_SECONDS = 86400


def known(plane: ControlPlane, uuid: str) -> tuple[bool, bool, bool]:
    """Return whether there is a mapping, a request spec, a trace of an instance."""
    with plane.database.reader() as session:
        return (
            instance_mappings.find_mapping(session, uuid) is not None,
            session.get(models.RequestSpec, uuid) is not None,
            traces.find_trace(session, uuid) is not None,
        )


def forget(plane: ControlPlane) -> None:
    Forgetting(plane.conf, plane.database, plane.clock).run()


def test_a_deleted_instance_can_be_explained_for_some_days(plane: ControlPlane) -> None:
    """[conductor] trace_keep_days of them; then nothing is left of it."""
    plane.conf.set_override("trace_keep_days", 3, group="conductor")
    kept, gone = plane.build(2)
    plane.delete(gone)
    plane.clock.advance(3 * DAY_SECONDS - 1)
    forget(plane)
    assert known(plane, gone) == (True, True, True)
    plane.clock.advance(1)
    forget(plane)
    assert known(plane, gone) == (False, False, False)
    assert known(plane, kept) == (True, True, True)


def test_the_shared_part_goes_with_the_last_instance(plane: ControlPlane) -> None:
    """Not before."""
    uuids = plane.build(2)
    for uuid in uuids:
        plane.delete(uuid)
        plane.clock.advance(30 * DAY_SECONDS)
        forget(plane)
    with plane.database.reader() as session:
        assert session.query(models.DecisionTrace).count() == 0
        assert session.query(models.InstanceChoice).count() == 0


def test_an_instance_that_is_still_to_be_deleted_is_not_forgotten(plane: ControlPlane) -> None:
    """Its cell has been away all the time."""
    (uuid,) = plane.build()
    (cell,) = plane.cells.values()
    plane.bus_of(cell).fail("delete_instance", oslo_messaging.MessagingTimeout("away"))
    plane.delete(uuid)
    plane.clock.advance(30 * DAY_SECONDS)
    forget(plane)
    assert known(plane, uuid) == (True, True, True)
