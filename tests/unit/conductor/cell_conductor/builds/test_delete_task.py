"""Deletes: at any moment of an instance's life, with its agent or without."""

from collections.abc import Callable
from pathlib import Path

import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.common.cell_db import models
from objects.allocations.fence import FENCE_FINAL
from objects.instances.build_request import BuildRequest
from tests.builders import an_image
from tests.fixtures.cell import Cell, a_build_request, node_uuid, survive_kills

GONE = exception.DatabaseUnavailable(name="placement", reason="it restarts")
Act = Callable[[Cell, BuildRequest], None]


def two_hosts(cell: Cell) -> BuildRequest:
    cell.add_agent("a")
    cell.add_agent("b")
    return a_build_request("a", "b")


def hand_over(cell: Cell, request: BuildRequest) -> None:
    cell.hand_over(request)


def settle(cell: Cell, _request: BuildRequest) -> None:
    cell.settle()


def delete(cell: Cell, request: BuildRequest) -> None:
    cell.ask_delete(request.instance_uuid)


def silence(cell: Cell, _request: BuildRequest) -> None:
    cell.silence("a")


def fail_first(cell: Cell, _request: BuildRequest) -> None:
    cell.failing["a"] = True


def first_reports(cell: Cell, _request: BuildRequest) -> None:
    cell.agents["a"].work()


def fail_all(cell: Cell, _request: BuildRequest) -> None:
    cell.failing.update({"a": True, "b": True})


STORIES: dict[str, list[Act]] = {
    "when-it-runs": [hand_over, settle, delete],
    "before-the-agent-looked": [hand_over, delete],
    "while-the-second-host-builds": [fail_first, hand_over, first_reports, delete],
    "after-all-builds-failed": [fail_all, hand_over, settle, delete],
    "when-its-host-is-down": [hand_over, settle, silence, delete],
    "while-its-host-goes-down": [hand_over, settle, delete, silence],
    "twice": [hand_over, settle, delete, delete],
}
stories = pytest.mark.parametrize("acts", STORIES.values(), ids=STORIES)


@stories
def test_a_deleted_instance_leaves_nothing(cell: Cell, acts: list[Act]) -> None:
    """No allocation, no record, and no guest once a lost host is back, whenever it was."""
    request = two_hosts(cell)
    for act in acts:
        act(cell, request)
    cell.settle()
    cell.agents["a"].is_alive = True
    cell.agents["a"].reconcile()
    cell.agents["a"].work()
    cell.check(request.instance_uuid, "deleted")


@stories
def test_a_delete_survives_a_kill_at_any_moment(
    tmp_path: Path, acts: list[Act], request: pytest.FixtureRequest
) -> None:
    """Before and after messages and transactions, another conductor ends it."""

    def check(cell: Cell, request: BuildRequest) -> None:
        cell.agents["a"].is_alive = True
        cell.agents["a"].reconcile()
        cell.agents["a"].work()
        cell.check(request.instance_uuid, "deleted")

    assert survive_kills(tmp_path, two_hosts, acts, check, story=request.node.name) >= 3


@stories
def test_a_delete_comes_out_the_same_when_every_message_arrives_twice(
    cell: Cell, acts: list[Act]
) -> None:
    """Commands and releases are done twice, and count once."""
    request = two_hosts(cell)
    cell.top_bus.is_twice = cell.cell_bus.is_twice = True
    for act in acts:
        act(cell, request)
    cell.settle()
    cell.agents["a"].reconcile()
    cell.check(request.instance_uuid, "deleted")


@stories
@pytest.mark.parametrize("when_done", [False, True], ids=["not-done", "done-but-not-answered"])
@pytest.mark.parametrize("method", ["release", "delete_instance"])
@pytest.mark.sampled(every=3)
def test_a_delete_goes_on_after_a_step_that_failed(
    cell: Cell, acts: list[Act], method: str, when_done: bool
) -> None:
    """The intent stays, and recovery takes the step again."""
    request = two_hosts(cell)
    bus = cell.cell_bus if method == "delete_instance" else cell.top_bus
    bus.fail(method, GONE, when_done=when_done, times=2)
    for act in acts:
        act(cell, request)
    cell.settle()
    cell.agents["a"].reconcile()
    cell.check(request.instance_uuid, "deleted")


def test_the_wish_is_stored_before_the_agent_hears_of_it(cell: Cell) -> None:
    """The first effect is the transaction, the second the message."""
    request = two_hosts(cell)
    cell.hand_over(request)
    cell.settle()
    cell.breaker.kill_at(-1)
    delete(cell, request)
    assert cell.breaker.names == ["write", "delete_instance"]


def test_the_record_lives_until_the_guest_and_the_allocation_are_gone(cell: Cell) -> None:
    """First the guest, then the allocation, then the record."""
    request = two_hosts(cell)
    cell.hand_over(request)
    cell.settle()
    delete(cell, request)
    assert cell.get(request.instance_uuid).task_state == "deleting"
    cell.top_bus.fail("release", GONE)
    cell.agents["a"].work()
    assert cell.guests(request.instance_uuid) == []
    assert cell.get(request.instance_uuid).task_state == "deleting"


def test_deleting_what_is_unknown_is_fine(cell: Cell) -> None:
    """Nothing is raised and nothing stored."""
    assert cell.delete.store(admin_context(), "00000000-0000-4000-8000-000000000000") == []
    assert cell.rows(models.InstanceAction) == []


def test_deleting_what_is_being_deleted_asks_the_agent_once(cell: Cell) -> None:
    """The second wish finds the first one."""
    request = two_hosts(cell)
    cell.hand_over(request)
    cell.settle()
    delete(cell, request)
    delete(cell, request)
    assert [command.kind for command in cell.agents["a"].commands] == ["delete"]


def test_a_delete_ends_the_build(cell: Cell) -> None:
    """No recovery casts what is being deleted."""
    request = two_hosts(cell)
    cell.hand_over(request)
    delete(cell, request)
    assert cell.rows(models.InstanceBuild) == []


def test_a_claim_under_way_when_the_delete_came_is_not_cast(cell: Cell) -> None:
    """The conductor that claims finds the build gone, and stops."""
    request = two_hosts(cell)
    cell.hand_over(request)
    uuid = request.instance_uuid
    fault = cell.agents["a"].fault_for(uuid)
    _answer, leases = cell.reports.take_build_failure("a", "a", uuid, 1, fault=fault, retry=True)
    cell.top_bus.meanwhile("claim_batch", lambda: cell.delete.store(admin_context(), uuid))
    cell.build.run(admin_context(), leases)
    assert [command.kind for command in cell.agents["b"].commands] == []
    cell.settle()
    cell.check(uuid, "deleted")


def test_a_claim_that_arrives_after_the_delete_is_refused(cell: Cell) -> None:
    """The release has the last fence: nothing is held by what is gone."""
    request = two_hosts(cell)
    cell.failing["a"] = True
    cell.hand_over(request)
    cell.settle()
    [late] = cell.placement.claims
    delete(cell, request)
    cell.settle()
    [result] = cell.placement.claim(admin_context(), [late])
    assert not result.is_claimed
    assert cell.placement.fences[request.instance_uuid] == FENCE_FINAL
    cell.check(request.instance_uuid, "deleted")


def test_a_build_cast_that_overtakes_its_delete_is_destroyed(cell: Cell) -> None:
    """The agent looks at the delete first, builds after it, and is told that it is stale."""
    request = two_hosts(cell)
    cell.hand_over(request)
    delete(cell, request)
    cell.agents["a"].commands.reverse()
    cell.settle()
    cell.check(request.instance_uuid, "deleted")


def test_a_host_that_is_down_is_not_waited_for(cell: Cell) -> None:
    """Record and allocation go immediately; the action says that it was a local delete."""
    request = two_hosts(cell)
    cell.hand_over(request)
    cell.settle()
    cell.silence("a")
    delete(cell, request)
    assert cell.row(request.instance_uuid).vm_state == "deleted"
    assert request.instance_uuid not in cell.placement.held
    events = [(event.event, event.host) for event in cell.rows(models.InstanceActionEvent)]
    assert ("conductor_local_delete", "a") in events


def test_what_is_on_no_host_is_deleted_without_one(cell: Cell) -> None:
    """Its builds all failed: no agent is asked, and none is said to be down."""
    request = two_hosts(cell)
    fail_all(cell, request)
    cell.hand_over(request)
    cell.settle()
    delete(cell, request)
    cell.check(request.instance_uuid, "deleted")
    events = {event.event for event in cell.rows(models.InstanceActionEvent)}
    assert events == {"compute_build_instance"}


def test_the_agent_reaps_what_was_deleted_while_it_was_down(cell: Cell) -> None:
    """When it is back, the list of what should be there lacks the guest."""
    request = two_hosts(cell)
    cell.hand_over(request)
    cell.settle()
    cell.silence("a")
    delete(cell, request)
    assert cell.guests(request.instance_uuid) == ["a"]
    cell.agents["a"].is_alive = True
    cell.agents["a"].heartbeat()
    cell.agents["a"].reconcile()
    assert cell.guests(request.instance_uuid) == []


def test_a_delete_whose_agent_is_silent_is_cast_again(cell: Cell) -> None:
    """Its host is up, the message was lost."""
    request = two_hosts(cell)
    cell.hand_over(request)
    cell.settle()
    delete(cell, request)
    cell.agents["a"].commands.clear()
    cell.pass_time(31)
    cell.recovery.run()
    assert [command.kind for command in cell.agents["a"].commands] == ["delete"]


def test_deleting_changes_the_host_s_row_for_the_schedulers(cell: Cell) -> None:
    """The instance is gone from the host's list."""
    request = two_hosts(cell)
    cell.hand_over(request)
    cell.settle()
    before = cell.updates.get(0)
    delete(cell, request)
    cell.settle()
    batch = cell.updates.get(before.last_seq)
    assert batch.node_uuids == [node_uuid("a")]
    assert batch.attributes["num_instances"] == [0]


@pytest.mark.parametrize("operation", ["snapshot", "backup", "shelve"])
def test_the_image_that_an_operation_was_making_goes_with_the_server(
    cell: Cell, operation: str
) -> None:
    """Its record would be of an image that is being saved for ever."""
    request = two_hosts(cell)
    uuid, image = request.instance_uuid, an_image(status="saving")
    hand_over(cell, request)
    cell.settle()
    cell.operate(uuid, operation, image=image)
    if operation == "shelve":
        while not cell.top.shelved_images:
            cell.agents["a"].work()
    cell.ask_delete(uuid)
    cell.settle()
    assert cell.top.shelved_images == {}
    assert operation == "shelve" or cell.top.ended_images == {image.id: None}
