"""A move that finds no host: its errors and notifications."""

import dataclasses

import pytest

from armillary import exception
from conductor.super_conductor.move.move_task import Moves
from tests.fixtures.control_plane import ControlPlane, an_admin
from tests.fixtures.stand_ins.told import Told


@pytest.fixture
def told(plane: ControlPlane) -> Told:
    """Return what the moves of a control plane tell."""
    plane.add_flavor("large", vcpus=4, memory_mb=2048)
    plane.map_hosts()
    told = Told()
    env = dataclasses.replace(plane.env, notifier=told.notifier)
    plane.operations._moves._moves = Moves(env, plane.peers, plane.moves.leases, plane.workers)
    return told


def move(plane: ControlPlane, operation: str) -> str:
    (uuid,) = plane.build()
    (cell,) = plane.cells.values()
    cell.instances[uuid] = cell.instances[uuid].with_values(host=cell.nodes[0].host)
    if operation == "evacuate":
        cell.services[0] = cell.services[0].with_values(up=False)
    plane.scheduler.error = exception.NoValidHost(reason="2 of 2 hosts lack VCPU")
    arguments = {"flavor": "large"} if operation == "resize" else {}
    plane.operate(uuid, operation, context=an_admin(), **arguments)
    plane.workers.work()
    return uuid


@pytest.mark.parametrize(
    ("operation", "task"),
    [
        ("resize", "migrate_server"),
        ("migrate", "migrate_server"),
        ("live_migrate", "migrate_server"),
        ("evacuate", "rebuild_server"),
    ],
)
def test_no_host_is_told_with_its_reason(
    plane: ControlPlane, told: Told, operation: str, task: str
) -> None:
    """Once, by the name that operators know, with the state that the instance stays in."""
    uuid = move(plane, operation)
    (one,) = told.told
    assert (one.event_type, one.priority) == (f"compute_task.{task}.error", "ERROR")
    assert (one.facts["instance_uuids"], one.facts["state"]) == ([uuid], "active")
    assert one.facts["reason"] == "2 of 2 hosts lack VCPU"
    assert one.facts["flavor"]["name"] == ("large" if operation == "resize" else "small")


def test_a_move_that_is_void_is_not_told(plane: ControlPlane, told: Told) -> None:
    """Its cell knows nothing of it any more: no process waits for it."""
    (cell,) = plane.cells.values()
    plane.scheduler.before = cell.moving.clear
    move(plane, "migrate")
    assert told.told == []
