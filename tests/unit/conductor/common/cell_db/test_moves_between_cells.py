"""Tests of moves from one cell to another: who has the server, and who holds what, at each step."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import oslo_messaging
import pytest

from armillary import exception
from conductor.common.cell_db import shadow_tables
from conductor.common.cell_db.models import InstanceOperation
from conductor.common.clock import moment
from objects.allocations.fence import FENCE_FINAL
from objects.instances.instance_command import Verb
from objects.instances.server_filters import MigrationFilters
from objects.request_spec import Destination
from tests.fixtures.control_plane import an_admin
from tests.fixtures.sampling import sample
from tests.unit.conductor.common.cell_db.two_cells import MemberCell, TwoCells

pytestmark = pytest.mark.sampled_tests(every=3)

OPERATIONS = ["resize", "migrate"]
EFFECTS_MAX = 500
EVERY = 160
MESSAGES_EVERY = STEPS_EVERY = 8
"""Of all effects, messages and steps of a story, which take minutes, a run looks at a sample."""
STEPS_MAX = 60
NEVER = float("inf")
TIMEOUT = oslo_messaging.MessagingTimeout("no answer")
BETWEEN = [
    "execute_in_other_cell",
    "report_to_other_cell",
    "hand_over_instance",
    "end_cell_change",
    "execute_for_other_cell",
    "other_cell_command_answered",
    "take_over_instance",
    "drop_copy",
]
"""What is said between cells, on either broker."""


def assert_between(plane: TwoCells, *, host: str = "x") -> None:
    """It waits in the target cell; the source keeps what a way back needs."""
    shown = plane.shown
    assert (shown.vm_state, shown.task_state, shown.host) == ("resized", None, host)
    assert shown.availability_zone == f"zone-of-{host}"
    assert plane.mapped_to is plane.target
    assert plane.holders() == {"a": "migration", host: "instance"}
    assert plane.bodies == {"a": "shutdown", host: "running"}
    assert [one.host for one in plane.listed] == [host]
    former = plane.row(plane.source)
    assert former is not None
    assert (former.hidden, former.host, former.deleted_at) == (True, None, None)
    assert plane.statuses(plane.source)[-1] == plane.statuses(plane.target)[-1] == "finished"


def assert_in(plane: TwoCells, cell: MemberCell, host: str, *, flavor: str = "small") -> None:
    """It runs in a cell; the other has a tombstone of it, or never heard of it."""
    shown = plane.shown
    assert (shown.vm_state, shown.task_state, shown.host) == ("active", None, host)
    assert shown.flavor.name == flavor
    assert plane.mapped_to is cell
    assert plane.holders() == {host: "instance"}
    assert plane.bodies == {host: "running"}
    assert [one.host for one in plane.listed] == [host]
    assert plane.changes_left == 0
    assert_other_is_gone(plane, cell)


def assert_other_is_gone(plane: TwoCells, cell: MemberCell) -> None:
    (other,) = (each for each in plane.members.values() if each is not cell)
    row = plane.row(other)
    assert row is None or (row.hidden and row.deleted_at is not None and row.host is None)
    for agent in other.agents.values():
        assert other.reports.list_migrating_instances(agent.name, agent.hosts) == []


def assert_deleted(plane: TwoCells) -> None:
    """Nothing is left of it anywhere, and nothing can be claimed for it any more."""
    assert plane.is_left() == []
    assert (plane.holders(), plane.bodies, plane.listed) == ({}, {}, [])
    assert plane.placement.fences[plane.uuid] == FENCE_FINAL
    assert plane.changes_left == 0
    for cell in plane.members.values():
        row = plane.row(cell)
        assert row is None or row.deleted_at is not None


# Straight on --------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", OPERATIONS)
def test_it_goes_to_another_cell_and_stays(two_cells: TwoCells, operation: str) -> None:
    two_cells.find("x", "y")
    two_cells.do(operation)
    assert_between(two_cells)
    two_cells.do("confirm_resize")
    assert_in(
        two_cells, two_cells.target, "x", flavor="large" if operation == "resize" else "small"
    )
    assert two_cells.statuses(two_cells.source) == two_cells.statuses(two_cells.target)
    assert two_cells.statuses(two_cells.target) == ["confirmed"]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_it_goes_back(two_cells: TwoCells, operation: str) -> None:
    two_cells.find("x", "y")
    two_cells.do(operation)
    two_cells.do("revert_resize")
    assert_in(two_cells, two_cells.source, "a")
    assert two_cells.statuses(two_cells.source) == ["reverted"]
    assert two_cells.statuses(two_cells.target) == ["reverted"]


def test_its_history_goes_along(two_cells: TwoCells) -> None:
    two_cells.find("x")
    two_cells.do("resize")
    two_cells.do("confirm_resize")
    actions = two_cells.servers.list_actions(an_admin(), two_cells.uuid)
    assert [one.action for one in actions] == ["confirm_resize", "resize", "create"]
    assert all(one.finish_time is not None and one.message is None for one in actions)
    hosts = {event.host for one in actions for event in one.events}
    assert {"a", "x"} <= hosts


def test_a_move_is_listed_once(two_cells: TwoCells) -> None:
    two_cells.find("x")
    two_cells.do("resize")
    listed = two_cells.migrations.list_migrations(an_admin(), filters=MigrationFilters(), limit=10)
    assert [(one.source_host, one.dest_host) for one in listed.migrations] == [("a", "x")]


def test_who_holds_what_at_each_stage(two_cells: TwoCells) -> None:
    """The table of the specification: as within a cell."""
    plane, seen = two_cells, {}
    plane.find("x")
    plane.ask("resize")
    while plane.step():
        for cell in plane.members.values():
            for row in cell.rows(InstanceOperation):
                seen[row.stage] = plane.holders()
    halves = {"a": "migration", "x": "instance"}
    assert seen.pop("prepare") == halves  # the first that the test can see
    assert set(seen) == {"detach", "attach"}
    assert all(held == halves for held in seen.values())
    assert_between(plane)


def wanted_of(plane: TwoCells) -> Destination:
    """Return where the scheduler was asked to look."""
    (spec,) = plane.scheduler.specs
    assert spec.requested_destination is not None
    return spec.requested_destination


def test_without_the_right_it_stays_in_its_cell(two_cells: TwoCells) -> None:
    two_cells.find("b", "x")
    two_cells.ask("resize", is_cross_cell=False)
    two_cells.settle()
    assert wanted_of(two_cells).allow_cross_cell_move is False
    with pytest.raises(exception.Invalid):
        two_cells.ask("migrate", is_cross_cell=False, host="x")


def test_with_the_right_its_own_cell_is_preferred(two_cells: TwoCells) -> None:
    two_cells.find("x")
    two_cells.do("migrate", host="x")
    wanted = wanted_of(two_cells)
    assert (wanted.allow_cross_cell_move, wanted.cell_uuid, wanted.host) == (
        True, two_cells.source.cell_uuid, "x",
    )  # fmt: skip
    assert_between(two_cells)


def test_it_comes_back_to_where_it_was_archived(two_cells: TwoCells) -> None:
    """What was kept of its former stay does no harm."""
    plane = two_cells
    for host, there in (("x", plane.target), ("a", plane.source), ("y", plane.target)):
        left = plane.mapped_to
        plane.find(host)
        plane.do("migrate")
        plane.do("confirm_resize")
        assert_in(plane, there, host)
        with left.database.writer() as session:
            later = moment(plane.clock() + 3600)
            counts = shadow_tables.archive(session, deleted_before=later, limit=10)
        assert counts["instances"] == 1
    plane.delete(plane.uuid)
    plane.settle()
    assert_deleted(plane)


# What fails ---------------------------------------------------------------------------------------


def test_the_next_host_is_tried(two_cells: TwoCells) -> None:
    two_cells.find("x", "y")
    two_cells.target.failing_steps = {("x", Verb.CLAIM)}
    two_cells.do("resize")
    assert_between(two_cells, host="y")


@pytest.mark.parametrize(
    "fails",
    [
        {"target": {("x", Verb.CLAIM), ("y", Verb.CLAIM)}},
        {"source": {("a", Verb.DETACH)}},
        {"target": {("x", Verb.ATTACH)}},
    ],
)
def test_what_fails_brings_it_back(two_cells: TwoCells, fails: dict[str, set[str]]) -> None:
    two_cells.find("x", "y")
    for name, steps in fails.items():
        getattr(two_cells, name).failing_steps = steps
    two_cells.do("resize")
    assert_in(two_cells, two_cells.source, "a")
    assert two_cells.statuses(two_cells.source) == ["error"]
    (action, _create) = two_cells.servers.list_actions(an_admin(), two_cells.uuid)
    assert (action.action, action.message) == ("resize", "Error")


def test_a_host_that_is_down_is_left_out(two_cells: TwoCells) -> None:
    two_cells.find("x", "y")
    two_cells.lose(two_cells.target, "x")
    two_cells.do("resize")
    assert_between(two_cells, host="y")


def test_a_silent_cell_is_waited_for(two_cells: TwoCells) -> None:
    plane = two_cells
    plane.find("x")
    plane.ask("resize")
    bring_back = plane.silence(plane.target)
    while plane.step():
        pass
    plane.pass_time()
    assert plane.shown.task_state == "resize_prep"
    (action, _create) = plane.servers.list_actions(an_admin(), plane.uuid)
    assert any(event.event == "conductor_wait_for_cell" for event in action.events)
    bring_back()
    plane.settle()
    assert_between(plane)


def test_a_cell_that_falls_silent_half_way_is_waited_for(two_cells: TwoCells) -> None:
    """It does not hear that the server is to be its own."""
    plane = two_cells
    plane.find("x")
    silent: list[Callable[[], None]] = []
    plane.bus.meanwhile("hand_over_instance", lambda: silent.append(plane.silence(plane.target)))
    plane.ask("resize")
    while plane.step():
        pass
    (action, _create) = plane.servers.list_actions(an_admin(), plane.uuid)
    (waited,) = [one for one in action.events if one.event == "conductor_wait_for_cell"]
    assert "Cell target did not answer" in str(waited.details)
    silent[0]()
    plane.settle()
    assert_between(plane)


@pytest.mark.parametrize("operation", ["confirm_resize", "revert_resize"])
def test_no_end_without_the_former_cell(two_cells: TwoCells, operation: str) -> None:
    two_cells.find("x")
    two_cells.do("resize")
    bring_back = two_cells.silence(two_cells.source)
    with pytest.raises(exception.CellUnavailable):
        two_cells.ask(operation)
    bring_back()
    assert_between(two_cells)


def test_it_does_not_go_back_to_a_host_that_is_down(two_cells: TwoCells) -> None:
    two_cells.find("x")
    two_cells.do("resize")
    two_cells.lose(two_cells.source, "a")
    two_cells.source.services.watch()
    with pytest.raises(exception.InstanceInvalidState, match="its former host is down"):
        two_cells.ask("revert_resize")
    assert_between(two_cells)


@pytest.mark.parametrize("name", ["resize", "confirm", "revert", "failure"])
@pytest.mark.sampled(every=2)
def test_it_is_shown_and_listed_once_at_every_moment(two_cells: TwoCells, name: str) -> None:
    """Before each message and transaction."""
    plane = two_cells
    before, act, check = STORIES[name]
    if before is not None:
        before(plane)
    looks = []

    def look() -> None:
        looks.append(plane.shown.uuid)
        assert [one.uuid for one in plane.listed] == [plane.uuid]

    plane.look_before_effects(look)
    act(plane)
    assert len(looks) > 10
    check(plane)


@pytest.mark.parametrize("name", ["resize", "confirm", "revert"])
@pytest.mark.sampled(every=2)
def test_a_lock_goes_along_or_is_refused_at_every_moment(two_cells: TwoCells, name: str) -> None:
    """Before each message and transaction; while it is handed over it is a conflict."""
    plane = two_cells
    before, act, check = STORIES[name]
    if before is not None:
        before(plane)
    taken: list[str | None] = [None]
    refused: list[str] = []

    def lock() -> None:
        assert plane.shown.locked_reason == taken[-1]
        reason = f"look {len(taken) + len(refused)}"
        try:
            plane.operate(plane.uuid, "lock", context=an_admin(), reason=reason)
        except exception.InstanceInvalidState:
            refused.append(reason)
        else:
            taken.append(reason)

    plane.look_before_effects(lock)
    act(plane)
    assert len(taken) > 10
    assert bool(refused) is (name != "confirm")
    assert plane.shown.locked_reason == taken[-1]
    check(plane)


def test_a_lock_follows_a_server_that_leaves_meanwhile(two_cells: TwoCells) -> None:
    """Where it was mapped when it was asked for there is a tombstone by now."""
    plane = two_cells
    went(plane)
    act = STORIES["revert"][1]
    plane.target.cell_bus.meanwhile("set_lock", lambda: act(plane))
    plane.operate(plane.uuid, "lock", context=an_admin(), reason="mine")
    assert (plane.mapped_to, plane.shown.locked_reason) == (plane.source, "mine")


@pytest.mark.parametrize("name", ["confirm", "revert"])
def test_it_is_found_though_it_leaves_while_one_looks(two_cells: TwoCells, name: str) -> None:
    """Where it was mapped when it was asked for there is nothing any more."""
    plane = two_cells
    before, act, check = STORIES[name]
    if name == "revert":
        went(plane)
    left = plane.mapped_to

    def go() -> None:
        if name == "confirm":
            before(plane)
        act(plane)

    left.cell_bus.meanwhile("get_instance", go)
    assert plane.shown.host == ("x" if name == "confirm" else "a")
    check(plane)


def test_it_is_listed_though_it_comes_while_one_looks(two_cells: TwoCells) -> None:
    """The cell that it came to had answered before that."""
    plane = two_cells
    bus = plane.target.cell_bus
    bus.meanwhile("list_instances", lambda: went(plane), when_done=True)
    assert [one.uuid for one in plane.listed] == [plane.uuid]
    assert_between(plane)


def test_a_host_that_dies_on_the_way_back_leaves_an_error(two_cells: TwoCells) -> None:
    """As within a cell; the reason goes along, and the host has what it needs when it is back."""
    plane = two_cells
    went(plane)
    plane.ask("revert_resize")
    plane.lose(plane.source, "a")
    plane.source.services.watch()
    plane.settle()
    shown = plane.shown
    assert (shown.vm_state, shown.task_state, shown.host) == ("error", None, "a")
    assert shown.fault is not None
    assert "host a is down" in str(shown.fault.details)
    assert plane.mapped_to is plane.source
    assert (plane.holders(), plane.changes_left) == ({"a": "instance"}, 0)
    assert_other_is_gone(plane, plane.source)


# Kills, lost messages, deletes --------------------------------------------------------------------


def went(plane: TwoCells) -> None:
    plane.find("x")
    plane.do("resize")


def stayed(plane: TwoCells) -> None:
    went(plane)
    plane.do("confirm_resize")


def came_back(plane: TwoCells) -> None:
    went(plane)
    plane.do("revert_resize")


def found_no_place(plane: TwoCells) -> None:
    plane.target.failing_steps = {("x", Verb.CLAIM), ("y", Verb.ATTACH)}
    plane.find("x", "y")
    plane.do("resize")


Story = Callable[[TwoCells], None]
STORIES: dict[str, tuple[Story, Story, Story]] = {
    "resize": (lambda plane: None, went, assert_between),
    "confirm": (
        went,
        lambda plane: plane.do("confirm_resize"),
        lambda plane: assert_in(plane, plane.target, "x", flavor="large"),
    ),
    "revert": (
        went,
        lambda plane: plane.do("revert_resize"),
        lambda plane: assert_in(plane, plane.source, "a"),
    ),
    "failure": (
        lambda plane: None,
        found_no_place,
        lambda plane: assert_in(plane, plane.source, "a"),
    ),
}
"""What comes before, what happens, and what has to be true in the end."""
SHORT_STORIES = [
    "revert",
    "failure",
    *(pytest.param(name, marks=pytest.mark.long) for name in ("resize", "confirm")),
]
"""The same, those left to `make long` whose steps the others have, too, for what costs most."""


def begun(plane: TwoCells, name: str) -> tuple[Story, Story]:
    """Bring cells to the beginning of a story; return what happens and what must be true then."""
    before, act, check = STORIES[name]
    before(plane)
    return act, check


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.sampled(every=2)
def test_it_survives_kills(two_cells: TwoCells, name: str) -> None:
    """First, and after a message or transaction, everybody at work dies: see ``EVERY``."""
    plane = two_cells
    act, check = begun(plane, name)
    restore, former = plane.save(), plane.statuses(plane.source)
    after_effects = (number + 0.5 for number in itertools.count())
    for effect in itertools.chain([0], sample(after_effects, EVERY, name)):
        assert effect < EFFECTS_MAX
        restore()
        if not plane.survive(lambda: act(plane), effect):
            assert effect > 20
            return
        plane.settle()
        if plane.statuses(plane.source) == former:  # it was not begun: who got no answer asks again
            act(plane)
        check(plane)


def each_message(plane: TwoCells, name: str) -> Iterator[tuple[str, bool]]:
    """Yield each message between cells in a story, with the plane as it begins.

    The flag: when it was dealt with, or before that. A sample of both.
    """
    act, _check = begun(plane, name)
    restore = plane.save()
    plane.breaker.kill_at(NEVER)
    act(plane)
    said = [method for method in BETWEEN if method in plane.breaker.names]
    assert said
    messages = list(itertools.product(said, (False, True)))
    for method, when_done in sample(messages, MESSAGES_EVERY, name):
        for bus in plane.buses:
            bus.acts.clear()
        restore()
        yield method, when_done


@pytest.mark.parametrize("name", SHORT_STORIES)
@pytest.mark.sampled(every=2)
def test_it_survives_lost_messages(two_cells: TwoCells, name: str) -> None:
    """Each message between cells is lost, or its answer, twice in a row."""
    _before, act, check = STORIES[name]
    for method, when_done in each_message(two_cells, name):
        for bus in two_cells.buses:
            bus.fail(method, TIMEOUT, when_done=when_done, times=2)
        act(two_cells)
        check(two_cells)


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.sampled(every=2)
def test_messages_may_come_twice(two_cells: TwoCells, name: str) -> None:
    plane = two_cells
    act, check = begun(plane, name)
    for bus in plane.buses:
        bus.repeated = {*BETWEEN, "continue_operation", "execute"}
    act(plane)
    check(plane)


@pytest.mark.parametrize("name", SHORT_STORIES)
@pytest.mark.sampled(every=2)
def test_it_may_be_deleted_at_any_moment(two_cells: TwoCells, name: str) -> None:
    """Before each step of any process, and at its end."""
    plane = two_cells
    act, _check = begun(plane, name)
    restore = plane.save()
    for number in sample(range(STEPS_MAX), STEPS_EVERY, name):
        restore()
        has_come = plane.at_step(number, lambda: plane.delete(plane.uuid))
        act(plane)
        if not has_come():
            assert number > 1
            return
        plane.settle()
        assert_deleted(plane)
    pytest.fail("it never comes to its end")


@pytest.mark.parametrize("name", SHORT_STORIES)
@pytest.mark.sampled(every=2)
def test_it_may_be_deleted_while_a_message_is_on_its_way(two_cells: TwoCells, name: str) -> None:
    """A periodic check corrects what arrives too late."""
    plane = two_cells
    _before, act, _check = STORIES[name]
    for method, when_done in each_message(plane, name):
        for bus in plane.buses:
            bus.meanwhile(method, lambda: plane.delete(plane.uuid), when_done=when_done)
        act(plane)
        plane.pass_time()
        plane.settle()
        for cell in plane.members.values():
            for agent in cell.agents.values():
                agent.reconcile()
        assert_deleted(plane)


def test_what_it_holds_goes_when_its_guest_is_gone(two_cells: TwoCells) -> None:
    """And not when the copy in the other cell is deleted."""
    went(two_cells)
    two_cells.delete(two_cells.uuid)
    former = two_cells.row(two_cells.source)
    assert former is not None
    assert former.deleted_at is not None
    assert two_cells.holders() == {"a": "migration", "x": "instance"}
    two_cells.settle()
    assert_deleted(two_cells)


def test_a_command_of_a_move_that_is_over_is_refused(two_cells: TwoCells) -> None:
    """It comes once more when the server is back."""
    plane = two_cells
    endpoint = plane.target.cell_bus.endpoints["cell_conductor", None][0]
    command = endpoint.execute_for_other_cell
    told: list[Callable[[], object]] = []

    def keep(*args: object, **kwargs: object) -> object:
        told.append(lambda: command(*args, **kwargs))
        return command(*args, **kwargs)

    endpoint.execute_for_other_cell = keep
    came_back(plane)
    for again in told:
        with pytest.raises(exception.Conflict):
            again()
    plane.settle()
    assert_in(plane, plane.source, "a")


def test_a_late_message_leaves_nothing(two_cells: TwoCells) -> None:
    """A command comes to the other cell after the server was deleted."""
    plane = two_cells
    plane.find("x")
    plane.ask("resize")
    late: list[Callable[[], object]] = []
    endpoint = plane.target.cell_bus.endpoints["cell_conductor", None][0]
    command = endpoint.execute_for_other_cell

    def hold_back(*args: object, **kwargs: object) -> None:
        late.append(lambda: command(*args, **kwargs))
        raise TIMEOUT

    endpoint.execute_for_other_cell = hold_back
    while plane.step():
        pass
    plane.delete(plane.uuid)
    plane.settle()
    assert_deleted(plane)
    late[0]()
    plane.pass_time()
    plane.settle()
    assert_other_is_gone(plane, plane.source)
    for agent in plane.target.agents.values():
        agent.reconcile()
    assert_deleted(plane)
