"""Locks: who locked an instance, and for whom; changes of what hosts do not see."""

import contextlib
from typing import Any

import oslo_messaging
import pytest

from armillary import exception
from armillary.context import RequestContext, admin_context
from compute_agent.interface import ComputeAPI
from conductor.cell_conductor.operations.locks_and_consoles import LocksAndConsoles
from conductor.common.cell_db import actions, faults, instances
from conductor.common.clock import moment
from objects.instance import Instance
from objects.instances.operation_arguments import CellOperation
from objects.instances.server_changes import ServerChanges
from tests import builders
from tests.fixtures.cell import Cell, a_build_request, cell
from tests.fixtures.control_plane import a_user

__all__ = ["cell"]


class Locks:
    """Locks and unlocks one instance."""

    def __init__(self, cell: Cell) -> None:
        cell.add_agent("a")
        request = a_build_request("a")
        cell.hand_over(request)
        cell.settle()
        self.uuid = request.instance_uuid
        self._cell = cell
        self.at_rest = LocksAndConsoles(
            database=cell.database, compute=ComputeAPI(cell.cell_bus), now=cell.clock
        )

    def lock(self, context: RequestContext, reason: str | None = None) -> None:
        self.at_rest.set_lock(context, self.uuid, locked=True, reason=reason)

    def unlock(self, context: RequestContext) -> None:
        self.at_rest.set_lock(context, self.uuid, locked=False, reason=None)

    def set(self, **values: Any) -> None:
        """Set columns of the instance."""
        with self._cell.database.writer() as session:
            row = instances.lock(session, self.uuid)
            for name, value in values.items():
                setattr(row, name, value)

    @property
    def instance(self) -> Instance:
        return self._cell.database.read(instances.get, self.uuid, cell_uuid=None)

    def seen(self) -> tuple[bool, str | None, str | None]:
        """Whether it is locked, by whom, and why."""
        found = self.instance
        return found.locked, found.locked_by, found.locked_reason


@pytest.fixture
def locks(cell: Cell) -> Locks:
    """Return an instance without a lock."""
    return Locks(cell)


def test_a_lock_says_whose_it_is(locks: Locks) -> None:
    """Until it goes."""
    assert locks.seen() == (False, None, None)
    locks.lock(a_user(), "mine")
    assert locks.seen() == (True, "owner", "mine")
    locks.lock(admin_context(), "it burns")
    assert locks.seen() == (True, "admin", "it burns")
    locks.unlock(admin_context())
    assert locks.seen() == (False, None, None)


def test_an_owner_does_not_take_an_administrators_lock_over(locks: Locks) -> None:
    """Else it could be unlocked with it."""
    locks.lock(admin_context(), "it burns")
    locks.lock(a_user(), "mine")
    assert locks.seen() == (True, "admin", "it burns")


def test_who_is_not_there_is_not_locked(locks: Locks) -> None:
    """For any caller."""
    with pytest.raises(exception.InstanceNotFound):
        locks.at_rest.set_lock(admin_context(), builders.a_uuid(), locked=True, reason=None)


def test_changes_are_merged_and_repeated_without_harm(locks: Locks) -> None:
    """Each changes only what it names."""
    first = ServerChanges(
        name="db", metadata={"a": "1", "b": "2"}, tags_added=["x", "y"],
        settings={"description": "mine"},
    )  # fmt: skip
    second = ServerChanges(
        metadata={"a": None, "c": "3"}, tags_added=["z", "y"], tags_removed=["x"],
        settings={"hostname": "db1"},
    )  # fmt: skip
    for changes in (first, second, second):
        locks.at_rest.update_instance(a_user(), locks.uuid, changes)
    found = locks.instance
    assert found.settings is not None
    assert (found.name, found.metadata) == ("db", {"b": "2", "c": "3"})
    assert (found.settings.tags, found.settings.hostname) == (["y", "z"], "db1")
    assert found.settings.description == "mine"


def test_all_can_be_replaced(locks: Locks) -> None:
    """By others or by nothing."""
    locks.at_rest.update_instance(
        a_user(), locks.uuid, ServerChanges(metadata={"a": "1"}, tags_added=["x"])
    )
    replaced = ServerChanges(metadata={"b": "2"}, replaces_metadata=True, replaces_tags=True)
    locks.at_rest.update_instance(a_user(), locks.uuid, replaced)
    assert locks.instance.metadata == {"b": "2"}
    assert locks.instance.settings is not None
    assert locks.instance.settings.tags == []


def test_there_are_limits_and_nothing_is_changed_beyond(locks: Locks) -> None:
    """Of what one instance may have."""
    locks.at_rest.update_instance(a_user(), locks.uuid, ServerChanges(metadata={"a": "1"}))
    many = {f"k{number}": "v" for number in range(128)}
    changes = ServerChanges(name="db", metadata={**many}, metadata_items_max=128)
    with pytest.raises(exception.QuotaExceeded, match="metadata_items: requested 129"):
        locks.at_rest.update_instance(a_user(), locks.uuid, changes)
    tags = [f"t{number}" for number in range(51)]
    with pytest.raises(exception.Invalid, match="50 tags, not 51"):
        locks.at_rest.update_instance(
            a_user(), locks.uuid, ServerChanges(name="db", tags_added=tags)
        )
    assert (locks.instance.name, locks.instance.metadata) == ("web", {"a": "1"})


def test_what_is_not_there_is_not_changed(locks: Locks) -> None:
    """For any caller."""
    with pytest.raises(exception.InstanceNotFound):
        locks.at_rest.update_instance(admin_context(), builders.a_uuid(), ServerChanges(name="db"))


def test_the_recorded_state_is_set_where_nothing_else_depends_on_it(
    locks: Locks, cell: Cell
) -> None:
    """With a fault that says by whom. Not while an operation runs, nor of what is off its host."""
    locks.at_rest.reset_state(admin_context(), locks.uuid, vm_state="error")
    assert locks.instance.vm_state == "error"
    (fault,) = cell.database.read(faults.list_of, locks.uuid)
    assert fault.message == "Its state was set to ERROR by an administrator."
    locks.at_rest.reset_state(admin_context(), locks.uuid, vm_state="active")
    assert locks.instance.vm_state == "active"
    for values in ({"task_state": "pausing"}, {"vm_state": "resized"}, {"host": None}):
        locks.set(task_state=None, vm_state="active", host="a")
        locks.set(**values)
        with pytest.raises(exception.InstanceInvalidState):
            locks.at_rest.reset_state(admin_context(), locks.uuid, vm_state="error")


def test_either_a_soft_deleted_instance_is_restored_or_it_is_reclaimed(
    locks: Locks, cell: Cell
) -> None:
    """Not before its time; a repeat gets the same answer."""
    uuid, kept = locks.uuid, moment(cell.clock())
    locks.set(vm_state="soft-delete", task_state=None, updated_at=kept)
    cell.clock.advance(59)
    assert not locks.at_rest.begin_reclaim(admin_context(), uuid, kept_seconds=60.0)
    cell.clock.advance(1)
    locks.set(task_state="restoring")
    assert not locks.at_rest.begin_reclaim(admin_context(), uuid, kept_seconds=60.0)
    locks.set(task_state=None)
    for _time in range(2):
        assert locks.at_rest.begin_reclaim(admin_context(), uuid, kept_seconds=60.0)
    with pytest.raises(exception.InstanceInvalidState, match="deleting"):
        cell.operations.requests.store(a_user(), uuid, "restore", CellOperation())
    assert locks.instance.updated_at == kept
    locks.set(vm_state="active")
    assert not locks.at_rest.begin_reclaim(admin_context(), uuid, kept_seconds=60.0)


def test_a_password_is_set_in_an_active_guest_and_not_recorded(locks: Locks, cell: Cell) -> None:
    """The action is, with its end."""
    locks.at_rest.set_admin_password(a_user(), locks.uuid, "new")
    assert cell.agents["a"].passwords == {locks.uuid: "new"}
    (action, *_) = cell.database.read(actions.list_of, locks.uuid)
    assert (action.action, action.message) == ("change_password", None)
    assert action.finish_time is not None
    assert "new" not in str(action.to_plain())
    locks.set(vm_state="stopped")
    with pytest.raises(exception.InstanceInvalidState):
        locks.at_rest.set_admin_password(a_user(), locks.uuid, "other")


@pytest.mark.parametrize(
    ("vm_state", "is_dumped"),
    [("active", True), ("paused", True), ("rescued", True), ("resized", True), ("error", True),
     ("stopped", False), ("suspended", False), ("shelved", False)],
)  # fmt: skip
def test_a_crash_dump_is_triggered_where_a_kernel_runs(
    locks: Locks, cell: Cell, vm_state: str, is_dumped: bool
) -> None:
    """The action is recorded."""
    locks.set(vm_state=vm_state)
    with contextlib.ExitStack() as refused:
        if not is_dumped:
            refused.enter_context(pytest.raises(exception.InstanceInvalidState, match=vm_state))
        locks.at_rest.trigger_crash_dump(a_user(), locks.uuid)
    assert cell.agents["a"].dumped == [locks.uuid] * is_dumped
    with cell.database.reader() as session:
        names = [action.action for action in actions.list_of(session, locks.uuid)]
    assert ("trigger_crash_dump" in names) is is_dumped


def test_an_agent_that_does_not_answer_is_not_asked_again_immediately(
    locks: Locks, cell: Cell
) -> None:
    """And its silence is not that of its cell: the error says no timeout."""
    cell.cell_bus.fail("get_diagnostics", oslo_messaging.MessagingTimeout("x"))
    with pytest.raises(exception.Unavailable, match="does not answer") as first:
        locks.at_rest.get_diagnostics(a_user(), locks.uuid)
    assert not isinstance(first.value, exception.RpcTimeout)
    with pytest.raises(exception.Conflict, match="a moment ago"):
        locks.at_rest.set_admin_password(a_user(), locks.uuid, "new")
    assert cell.agents["a"].passwords == {}


def test_what_cannot_be_done_is_recorded_as_failed(locks: Locks, cell: Cell) -> None:
    """Its reason goes to the caller."""
    cell.agents["a"].passwords = None
    with pytest.raises(exception.OperationUnsupported):
        locks.at_rest.set_admin_password(a_user(), locks.uuid, "new")
    (action, *_) = cell.database.read(actions.list_of, locks.uuid)
    assert action.message == actions.FAILED


def test_diagnostics_are_asked_of_the_host(locks: Locks) -> None:
    """Of one that is up."""
    assert locks.at_rest.get_diagnostics(a_user(), locks.uuid).driver == "fake"
    locks.set(host=None)
    with pytest.raises(exception.InstanceInvalidState, match="no host that is up"):
        locks.at_rest.get_diagnostics(a_user(), locks.uuid)
