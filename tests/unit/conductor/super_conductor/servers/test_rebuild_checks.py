"""Checks of another image: the errors and notifications of a refusal."""

import pytest

from armillary import exception
from conductor.super_conductor.servers.rebuild_checks import RebuildChecks
from scheduler.interface import SchedulerAPI
from tests import builders
from tests.fixtures.control_plane import ControlPlane, an_admin
from tests.fixtures.stand_ins.told import Told


def check(plane: ControlPlane, told: Told, uuid: str) -> None:
    """Ask whether an instance's host can run another image."""
    instance = plane.servers.get_server(an_admin(), uuid)
    checks = RebuildChecks(plane.database, SchedulerAPI(plane.bus), [], told.notifier)
    checks.check(an_admin(), instance, builders.an_image("other"))


def test_a_host_that_can_run_it_is_nothing_to_tell(plane: ControlPlane) -> None:
    """Only refusals are told."""
    told = Told()
    (uuid,) = plane.build()
    check(plane, told, uuid)
    assert told.told == []


def test_a_refusal_is_told_with_its_reason(plane: ControlPlane) -> None:
    """The caller is told, too."""
    told = Told()
    (uuid,) = plane.build()
    plane.scheduler.error = exception.NoValidHost(reason="1 of 1 hosts lacks a trait")
    with pytest.raises(exception.NoValidHost):
        check(plane, told, uuid)
    (one,) = told.told
    assert (one.event_type, one.priority) == ("compute_task.rebuild_server.error", "ERROR")
    assert (one.facts["reason"], one.facts["state"]) == ("1 of 1 hosts lacks a trait", "active")
    assert one.facts["instance_uuids"] == [uuid]
