"""Tests of forgetting instances that are gone for long."""

import oslo_messaging
import pytest

from conductor.super_conductor.db import instance_mappings, models, traces
from conductor.super_conductor.delete.retention import Retention
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
    Retention(plane.conf, plane.database, plane.clock).run()


@pytest.fixture
def _kept_for_three_days(plane: ControlPlane) -> None:
    plane.conf.set_override("trace_retention_hours", 72, group="scheduler")


@pytest.mark.usefixtures("_kept_for_three_days")
def test_a_trace_is_kept_for_some_hours(plane: ControlPlane) -> None:
    """[scheduler] trace_retention_hours of them, also that of an instance that lives on."""
    (uuid,) = plane.build()
    plane.clock.advance(3 * DAY_SECONDS - 1)
    forget(plane)
    assert known(plane, uuid) == (True, True, True)
    plane.clock.advance(1)
    forget(plane)
    assert known(plane, uuid) == (True, True, False)


@pytest.mark.usefixtures("_kept_for_three_days")
def test_a_deleted_instance_is_known_for_some_hours(plane: ControlPlane) -> None:
    """Then nothing is left of it."""
    kept, gone = plane.build(2)
    plane.clock.advance(DAY_SECONDS)
    plane.delete(gone)
    plane.clock.advance(3 * DAY_SECONDS - 1)
    forget(plane)
    assert known(plane, gone) == (True, True, False)
    plane.clock.advance(1)
    forget(plane)
    assert known(plane, gone) == (False, False, False)
    assert known(plane, kept) == (True, True, False)


@pytest.mark.usefixtures("_kept_for_three_days")
def test_more_than_a_batch_is_forgotten_in_one_run(plane: ControlPlane) -> None:
    """However long no scan ran."""
    uuids = [plane.build()[0] for _ in range(41)]
    plane.clock.advance(3 * DAY_SECONDS)
    forget(plane)
    assert not any(known(plane, uuid)[2] for uuid in uuids)


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
    assert known(plane, uuid) == (True, True, False)
