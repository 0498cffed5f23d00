"""A cell's notifications about its instances: once, when the change is stored."""

from typing import Any

import pytest
from sqlalchemy.orm import Session

from armillary.context import admin_context
from conductor.cell_conductor.operations.flow import AgentStage
from conductor.cell_conductor.operations.flows import FLOWS
from conductor.common.cell_db import models, notify
from rpc.notifications import Notifier
from rpc.notifications.notification import Notification
from tests import builders
from tests.fixtures.cell import Cell, a_build_request, cell

__all__ = ["cell"]


class Box:
    """Keeps what is told."""

    def __init__(self) -> None:
        self.told: list[Notification] = []

    def put(self, notification: Notification) -> None:
        self.told.append(notification)

    def stop(self, grace_seconds: float) -> None:
        """Have nothing to end."""

    def lines(self) -> list[tuple[str, str | None, str | None]]:
        """Return type, host and state of all."""
        lines = [told.line() for told in self.told]
        return [(line["type"], line["host"], line["state"]) for line in lines]


@pytest.fixture
def box(cell: Cell) -> Box:
    """Return what hears all that the cell tells; it has three hosts."""
    for host in "abc":
        cell.add_agent(host)
    box = Box()
    cell.database.tell(Notifier("test:h", box))
    notify.listen_for_state_changes()
    return box


def test_a_build_is_told_from_its_beginning_to_its_end(cell: Cell, box: Box) -> None:
    """The end as the instance is when it is stored."""
    cell.hand_over(a_build_request("a", "b"))
    cell.settle()
    assert box.lines() == [
        ("instance.create.start", "a", "building"),
        ("instance.create.end", "a", "active"),
        ("instance.update", "a", "active"),
    ]


def test_a_row_is_told_with_the_flavor_of_its_request(cell: Cell, box: Box) -> None:
    """The first is told of the requested instance, the others of what is stored."""
    cell.hand_over(a_build_request("a"))
    cell.settle()
    first, *others = (told.facts["flavor"] for told in box.told)
    assert first["vcpus"] >= 1
    assert others == [first, first]


def test_each_failed_attempt_is_told(cell: Cell, box: Box) -> None:
    """And goes on to the next host."""
    cell.failing["a"] = True
    cell.hand_over(a_build_request("a", "b"))
    cell.settle()
    assert [line[:2] for line in box.lines()] == [
        ("instance.create.start", "a"),
        ("compute.exception", "a"),
        ("instance.create.end", "b"),
        ("instance.update", "b"),
    ]


def test_a_build_that_failed_on_all_hosts_is_an_error_with_its_reason(cell: Cell, box: Box) -> None:
    """The same that the fault tells."""
    cell.failing.update({"a": True, "b": True})
    cell.hand_over(a_build_request("a", "b"))
    cell.settle()
    (error,) = [told.line() for told in box.told if told.event_type == "instance.create.error"]
    assert (error["priority"], error["state"]) == ("ERROR", "error")
    assert "2 attempts failed" in error["reason"]


def test_a_delete_is_told(cell: Cell, box: Box) -> None:
    """From the wish to the end of the record."""
    request = a_build_request("a")
    cell.hand_over(request)
    cell.settle()
    box.told.clear()
    cell.ask_delete(request.instance_uuid)
    cell.settle()
    assert [line for line in box.lines() if line[0] != "instance.update"] == [
        ("instance.delete.start", "a", "active"),
        ("instance.delete.end", "a", "deleted"),
    ]


def test_the_same_twice_is_told_once(cell: Cell, box: Box) -> None:
    """Messages may arrive twice."""
    request = a_build_request("a")
    for _ in range(2):
        cell.hand_over(request)
        cell.settle()
    assert [line[0] for line in box.lines()].count("instance.create.start") == 1


def test_what_was_rolled_back_is_not_told(cell: Cell, box: Box) -> None:
    """No notification tells of what did not happen."""

    def fail(session: Session) -> None:
        notify.failed(session, cell.agents["a"].fault_for("8a6f1f2e-9d0b-4b58-a1b5-0c8f0f8d8d11"))
        raise KeyError

    with pytest.raises(KeyError):
        cell.database.run_in_writer(fail)
    assert box.told == []


def operated(cell: Cell, box: Box, operation: str, *hosts: str, **arguments: Any) -> list[str]:
    """Return what is told of an operation on an instance on host a; moves go to ``hosts``."""
    request = a_build_request("a")
    uuid = request.instance_uuid
    cell.hand_over(request)
    cell.settle()
    box.told.clear()
    move = builders.a_uuid()
    if hosts:
        arguments |= {"migration_uuid": move, "migration_type": "resize"}
    cell.operate(uuid, operation, **arguments)
    if hosts:
        cell.schedule(uuid, move, *hosts)
    cell.settle()
    return [line[0] for line in box.lines() if line[0] != "instance.update"]


@pytest.mark.parametrize(
    ("operation", "told"), [("stop", "power_off"), ("reboot", "reboot"), ("shelve", "shelve")]
)
def test_operations_are_told_by_the_names_that_operators_know(
    cell: Cell, box: Box, operation: str, told: str
) -> None:
    """Where users have another one."""
    lines = operated(cell, box, operation)
    assert lines == [f"instance.{told}.start", f"instance.{told}.end"]


def test_the_steps_of_a_resize_are_told(cell: Cell, box: Box) -> None:
    """Within the whole."""
    assert operated(cell, box, "resize", "b") == [
        "instance.resize.start",
        "instance.resize_prep.start", "instance.resize_prep.end",
        "instance.resize_finish.start", "instance.resize_finish.end",
        "instance.resize.end",
    ]  # fmt: skip


def test_that_a_rebuild_knows_its_host_is_told(cell: Cell, box: Box) -> None:
    """An evacuation, too; it has no phases."""
    assert operated(cell, box, "rebuild") == [
        "instance.rebuild.start", "instance.rebuild_scheduled", "instance.rebuild.end"
    ]  # fmt: skip


@pytest.mark.parametrize(("fails", "phase"), [(True, "end"), (False, "error")])
def test_that_a_live_migration_is_aborted_is_told(
    cell: Cell, box: Box, fails: bool, phase: str
) -> None:
    """Asked for twice it begins once; it is an error when the guest had gone by then."""
    request, move = a_build_request("a"), builders.a_uuid()
    uuid = request.instance_uuid
    cell.hand_over(request)
    cell.settle()
    box.told.clear()
    cell.operate(uuid, "live_migrate", migration_uuid=move, migration_type="live-migration")
    cell.schedule(uuid, move, "b")
    while cell.rows(models.InstanceOperation)[0].stage != "copy":
        next(agent for agent in cell.agents.values() if agent.is_busy).step()
    for _ in range(2):
        cell.operations.answers.abort_migration(admin_context(), uuid, move)
    if not fails:
        cell.failing_steps.clear()  # its agent learns of it too late
    cell.settle()
    lines = [line[0] for line in box.lines() if "abort" in line[0]]
    assert lines == [
        "instance.live_migration_abort.start",
        f"instance.live_migration_abort.{phase}",
    ]


def test_a_step_that_fails_is_told(cell: Cell, box: Box) -> None:
    """Whatever comes of the whole."""
    cell.failing_steps = {("b", "claim")}
    lines = operated(cell, box, "resize", "b", "c")
    assert lines.count("instance.resize_prep.error") == 1
    assert lines[-1] == "instance.resize.end"


def test_every_step_that_is_told_of_is_one() -> None:
    """And every word is for an operation."""
    stages = {
        (flow.operation, stage.verb.value, stage.at.value)
        for flow in FLOWS.values()
        for stage in flow.stages.values()
        if isinstance(stage, AgentStage)
    }
    assert notify.STEPS.keys() | notify.SCHEDULED.keys() <= stages
    assert set(notify.NOTIFICATION_NAMES) <= set(FLOWS)
