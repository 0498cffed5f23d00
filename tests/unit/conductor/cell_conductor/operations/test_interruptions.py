"""Interruptions: deletes, hosts that go down and come back, aborts, what has to succeed."""

import contextlib
import dataclasses
import itertools
from collections.abc import Iterator

import oslo_messaging
import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.cell_conductor.operations.flow import AgentStage, Side
from conductor.cell_conductor.operations.flows import FLOWS
from conductor.common.cell_db import faults
from objects.allocations.fence import FENCE_FINAL
from objects.hosts.host_answers import ServiceChanges
from tests.fixtures.cell import node_uuid
from tests.fixtures.cell.operated_cell import OperatedCell, Seen
from tests.fixtures.cell.operation_stories import IMAGE, MOVE, ON_B, STORIES, Stage
from tests.fixtures.plugins.sampling import sample

pytestmark = pytest.mark.sampled_tests(every=3)

MOVES = ["resize", "resize-here", "confirm", "revert", "live", "evacuate", "unshelve"]
IN_PLACE = ["stop", "rebuild", "shelve", "offload", "unshelve-here"]
COMMANDS_EVERY = 6
EFFECTS_EVERY = 8
"""A host goes down at one in so many commands, a delete comes before one in so many effects."""


def check_whole(cell: OperatedCell) -> None:
    """Hold what is true of any idle instance: its allocations, where there is a guest, and that
    an error has a reason.
    """
    row, move = cell.row(cell.uuid), cell.migration(MOVE)
    assert (cell.operation, row.task_state) == (None, None)
    assert row.vm_state != "error" or reasons(cell)
    at = set() if row.host is None else {row.host}
    held = {cell.uuid: set(at)} if at else {}
    if move is not None and row.vm_state == "resized":
        at.add(str(move.source_host))
        held[MOVE] = {str(move.source_host)}
    if move is not None and move.status == "done":
        at.add("a")
        held[cell.uuid].add("a")
    assert cell.placement.held == {
        consumer: {node_uuid(host) for host in hosts} for consumer, hosts in held.items()
    }
    assert {host for _uuid, host in cell.bodies} == at


def reasons(cell: OperatedCell) -> list[str]:
    """Return what the user reads of all that went wrong."""
    with cell.database.reader() as session:
        return [fault.message for fault in faults.list_of(session, cell.uuid) if fault.message]


def commands_of(stage: Stage, name: str) -> Iterator[tuple[str, str]]:
    """Yield each stage of a story in which a host is told something, and which one."""
    for seen in stage.play(STORIES[name]).seen:
        found = FLOWS[seen.operation].stages[seen.stage]
        if isinstance(found, AgentStage):
            yield seen.stage, _host_of(found, seen)


def _host_of(stage: AgentStage, seen: Seen) -> str:
    return "a" if stage.at is Side.HERE else str(seen.flow_state[stage.at]["host"])


@pytest.mark.parametrize("name", MOVES + IN_PLACE)
def test_a_host_that_is_down_for_a_while_holds_up_or_loses(stage: Stage, name: str) -> None:
    """At whichever command: the instance comes to rest, in one place, with what it needs there."""
    commands = list(commands_of(stage, name))
    assert commands
    for at, host in sample(commands, COMMANDS_EVERY, f"down {name}"):
        story = dataclasses.replace(STORIES[name], lost={at: host})
        cell = stage.set(story)
        for act in story.acts():
            act(cell)
        cell.outlast()
        cell.find(host)
        for agent in cell.agents.values():
            agent.reconcile()
        check_whole(cell)


def test_the_fault_of_a_lost_host_names_the_operation_and_its_step(stage: Stage) -> None:
    """Its user reads which one failed, an administrator also at what, and which host is down."""
    story = dataclasses.replace(STORIES["resize"], lost={"detach": "a"})
    cell = stage.set(story)
    for act in story.acts():
        act(cell)
    cell.outlast()
    [fault] = cell.database.read(faults.list_of, cell.uuid)
    assert fault.message == "The resize failed: a host cannot be reached."
    assert fault.details == "at its step keep_source: host a is down"


REFUSED = {
    "stop": "", "start": "stop", "reboot": "", "rebuild": "", "restore": "soft-delete",
    "shelve": "", "unshelve_here": "shelve", "resize": "", "migrate": "",
    "pause": "", "unpause": "pause", "suspend": "", "resume": "suspend",
    "rescue": "", "unrescue": "rescue", "snapshot": "", "backup": "",
    "live_migrate": "", "revert_resize": "resize",
}  # fmt: skip
"""Operations that need a host, and after which story they may begin."""
NEEDED_NONE = {"confirm_resize", "evacuate", "shelve_offload", "soft_delete", "unshelve"}


@pytest.mark.parametrize("operation", REFUSED)
def test_an_operation_whose_host_is_down_is_refused_immediately(
    stage: Stage, operation: str
) -> None:
    """With the host's name, and nothing has changed."""
    after = REFUSED[operation]
    cell = stage.play(STORIES[after]) if after else stage.set(STORIES["stop"])
    before = cell.row(cell.uuid)
    cell.lose("a")
    cell.outlast()
    with pytest.raises(exception.InstanceInvalidState, match="host a is down"):
        cell.operate(
            cell.uuid, operation, migration_uuid=cell.uuid, migration_type="x", image=IMAGE
        )
    row = cell.row(cell.uuid)
    assert cell.operation is None
    assert (row.vm_state, row.task_state) == (before.vm_state, None)
    assert (row.name, row.operations_total) == (before.name, before.operations_total)


def test_every_operation_says_whether_it_needs_a_host() -> None:
    """A new one has to be named here."""
    assert set(FLOWS) == {*REFUSED, *NEEDED_NONE}
    assert {name for name, flow in FLOWS.items() if flow.needs is None} == NEEDED_NONE


def test_a_server_on_a_lost_host_is_kept_and_its_guest_off_once_the_host_is_back(
    stage: Stage,
) -> None:
    """It could not be turned off when it was soft-deleted; nothing else is done to it."""
    cell = stage.set(STORIES["stop"])
    cell.lose("a")
    cell.outlast()
    cell.operate(cell.uuid, "soft_delete")
    cell.settle()
    row = cell.row(cell.uuid)
    assert (row.vm_state, row.task_state, row.power_state) == ("soft-delete", None, "running")
    cell.timed.run()
    assert cell.operation is None, "the host is still down"
    cell.find("a")
    cell.timed.run()
    cell.settle()
    row = cell.row(cell.uuid)
    assert (row.vm_state, row.task_state, row.power_state) == ("soft-delete", None, "shutdown")
    assert cell.timed.run() == 0
    check_whole(cell)


@pytest.mark.parametrize("name", ["resize", "live", "unshelve"])
def test_a_delete_at_any_moment_leaves_nothing(stage: Stage, name: str) -> None:
    """No allocation, no row, no guest; and both hosts of a migration know it."""
    story = STORIES[name]
    cell = stage.cell
    for number in sample(itertools.count(), EFFECTS_EVERY, f"delete {name}"):
        stage.set(story)
        cell.breaker.meanwhile(number, lambda: cell.ask_delete(cell.uuid))
        with contextlib.suppress(exception.Conflict, exception.NotFound):  # it is gone
            for act in story.acts():
                act(cell)
        cell.settle()
        if not cell.breaker.has_acted:
            break
        check_deleted(cell)
    assert number > 5


def test_a_word_to_the_other_host_that_is_lost_is_said_again(stage: Stage) -> None:
    """No conductor waits for its answer; the guest there would stay until its agent compares."""
    cell = stage.play(STORIES["resize"])
    cell.cell_bus.fail("delete_instance", oslo_messaging.MessagingTimeout("lost"))
    cell.ask_delete(cell.uuid)
    cell.settle()
    assert all(cell.uuid in agent.deleted for agent in (cell.agents["a"], cell.agents["b"]))
    check_deleted(cell)


@pytest.mark.parametrize("name", ["stop", "resize", "revert"])
def test_an_operation_goes_on_though_its_hosts_have_seen_later_commands(
    stage: Stage, name: str
) -> None:
    """The cell's database was restored from a backup: its numbers are used already."""
    story = STORIES[name]
    cell = stage.set(story)
    for host in ("a", "b"):
        cell.agents[host].answered[cell.uuid, host] = (1000, False)
    for act in story.acts():
        act(cell)
    cell.settle()
    story.check(cell)
    assert cell.row(cell.uuid).commands_total > 1000


def check_deleted(cell: OperatedCell) -> None:
    """Hold what is true when an instance is gone."""
    move = cell.migration(MOVE)
    tried = [seen.flow_state["destination"]["host"] for seen in cell.seen[-1:]
             if "destination" in seen.flow_state]  # fmt: skip
    assert all(cell.uuid in cell.agents[host].deleted for host in tried)  # by a word, not by itself
    for agent in cell.agents.values():
        agent.reconcile()
    assert (cell.operation, cell.row(cell.uuid).deleted_at is None) == (None, False)
    assert (cell.placement.held, cell.bodies) == ({}, {})
    assert cell.placement.fences[cell.uuid] == FENCE_FINAL
    if move is None:
        return
    assert cell.placement.fences[MOVE] == FENCE_FINAL
    if move.status != "completed":
        assert move.status == "cancelled"
        told = {host for host in (move.source_host, move.dest_host) if host is not None}
        assert all(cell.uuid in cell.agents[host].deleted for host in told)


@pytest.mark.parametrize(
    ("name", "fails"),
    [("resize-attach-fails", "a keep"), ("confirm", "a drop"), ("confirm-here", "a settle"),
     ("revert", "b drop"), ("revert-here", "a keep"), ("live", "a drop")],
    ids=["keep", "drop", "settle", "revert", "revert-here", "live"],
)  # fmt: skip
def test_what_has_to_succeed_is_tried_until_it_does(stage: Stage, name: str, fails: str) -> None:
    """Each time under a number of its own: an agent answers the same command the same way."""
    story = STORIES[name]
    failing = dataclasses.replace(story, fails=(*story.fails, fails))
    cell = stage.set(failing)
    for act in failing.acts():
        act(cell)
    cell.outlast()
    assert cell.operation is not None
    cell.failing_steps.clear()
    cell.settle()
    story.check(cell)


def live_migrating(stage: Stage, at: str) -> OperatedCell:
    """Return a cell in which a live migration is at a stage."""
    cell = stage.set(STORIES["live"])
    for act in STORIES["live"].acts():
        act(cell)
    while cell.operation is None or cell.operation.stage != at:
        cell.step()
    return cell


def test_a_live_migration_is_aborted_while_it_copies(stage: Stage) -> None:
    """The guest continues where it ran, and nothing is left at the destination."""
    cell = live_migrating(stage, "copy")
    cell.operations.answers.abort_migration(admin_context(), cell.uuid, MOVE)
    cell.settle()
    dataclasses.replace(STORIES["live-copy-fails"], status="cancelled").check(cell)


def test_a_live_migration_that_copies_nothing_is_not_aborted(stage: Stage) -> None:
    """Neither before nor after, nor one that there is not; and it goes on."""
    for at in ("prepare", "complete"):
        cell = live_migrating(stage, at)
        with pytest.raises(exception.InstanceInvalidState, match="not being copied"):
            cell.operations.answers.abort_migration(admin_context(), cell.uuid, MOVE)
    with pytest.raises(exception.MigrationNotFound):
        cell.operations.answers.abort_migration(admin_context(), cell.uuid, cell.uuid)
    cell.settle()
    STORIES["live"].check(cell)


def evacuated(stage: Stage) -> OperatedCell:
    """Return a cell whose instance is on b, and whose host a has just come back."""
    cell = stage.play(STORIES["evacuate"])
    cell.timed.run()
    STORIES["evacuate"].check(cell)  # nothing is taken from a host that is down
    cell.agents["a"].is_alive = True
    cell.agents["a"].heartbeat()
    return cell


def test_what_was_evacuated_is_cleared_when_its_host_is_back(stage: Stage) -> None:
    """The guest that was left goes, then what it held."""
    cell = evacuated(stage)
    cell.timed.run()
    cell.settle()
    dataclasses.replace(STORIES["evacuate"], status="completed", **ON_B).check(cell)


def test_what_was_evacuated_is_cleared_after_what_is_done_to_it(stage: Stage) -> None:
    """An operation writes the allocations, too; and what is resized holds them twice."""
    cell = evacuated(stage)
    cell.operate(cell.uuid, "stop")
    cell.timed.run()
    assert cell.placement.held[cell.uuid] == {node_uuid("a"), node_uuid("b")}
    cell.settle()
    cell.timed.run()
    assert cell.placement.held == {cell.uuid: {node_uuid("b")}}


def test_a_clearing_that_another_write_has_overtaken_is_done_again(stage: Stage) -> None:
    """Else the host's part would stay for ever."""
    cell = evacuated(stage)
    fence = cell.placement.fences[cell.uuid]
    cell.placement.fences[cell.uuid] = FENCE_FINAL
    cell.timed.run()
    assert cell.placement.held[cell.uuid] == {node_uuid("a"), node_uuid("b")}
    cell.placement.fences[cell.uuid] = fence
    cell.timed.run()
    assert cell.placement.held[cell.uuid] == {node_uuid("b")}


@pytest.mark.parametrize(
    ("after", "option", "then"),
    [
        ("resize", "resize_confirm_window", "confirm"),
        ("shelve", "shelved_offload_time", "offload"),
        ("shelve-files", "shelved_offload_time", "offload-files"),
    ],
    ids=["confirm", "offload", "offload-files"],
)
def test_what_waited_long_enough_goes_on_by_itself(
    stage: Stage, after: str, option: str, then: str
) -> None:
    """Not before."""
    cell = stage.play(STORIES[after])
    cell.conf.set_override(option, 60)
    assert cell.timed.run() == 0
    cell.pass_time(61)
    cell.timed.run()
    cell.conf.clear_override(option)
    cell.settle()
    STORIES[then].check(cell)


@pytest.mark.parametrize("is_forced_down", [False, True])
def test_a_revert_waits_for_a_destination_that_may_still_run_the_guest(
    stage: Stage, is_forced_down: bool
) -> None:
    """A host that is down may only be cut off; an operator who forces it down knows better."""
    story = dataclasses.replace(STORIES["revert"], lost={"drop_attached": "b"})
    cell = stage.set(story)
    for act in story.acts():
        act(cell)
    cell.outlast()
    assert cell.operation is not None
    assert cell.operation.stage == "drop_attached"
    if is_forced_down:
        service = next(
            each for each in cell.services.list_services(admin_context()) if each.host == "b"
        )
        cell.services.update_service(
            admin_context(), service.uuid, ServiceChanges(forced_down=True)
        )
    cell.outlast()
    row = cell.row(cell.uuid)
    assert (cell.operation is None) is is_forced_down
    if is_forced_down:
        assert (row.vm_state, row.host) == ("active", "a")
