"""Tests of moves from one cell to another: who has the server, and who holds what, at each step."""

from collections.abc import Callable

import pytest

from armillary import exception
from conductor.common.cell_db import shadow_tables
from conductor.common.cell_db.models import InstanceOperation
from conductor.common.clock import moment
from objects.instances.instance_command import Verb
from objects.instances.server_filters import MigrationFilters
from objects.request_spec import Destination
from tests.fixtures.control_plane import an_admin
from tests.unit.conductor.common.cell_db.cell_changes import (
    STORIES,
    assert_between,
    assert_deleted,
    assert_in,
    assert_other_is_gone,
    went,
)
from tests.unit.conductor.common.cell_db.two_cells import TwoCells

pytestmark = pytest.mark.sampled_tests(every=3)


OPERATIONS = ["resize", "migrate"]


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
    actions = two_cells.servers.list_server_actions(an_admin(), two_cells.uuid)
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
    (action, _create) = two_cells.servers.list_server_actions(an_admin(), two_cells.uuid)
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
    (action, _create) = plane.servers.list_server_actions(an_admin(), plane.uuid)
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
    (action, _create) = plane.servers.list_server_actions(an_admin(), plane.uuid)
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
