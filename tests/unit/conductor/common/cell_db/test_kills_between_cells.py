"""Kills, lost messages and deletes while a server moves to another cell."""

import itertools
from collections.abc import Callable, Iterator

import oslo_messaging
import pytest

from armillary import exception
from tests.fixtures.plugins.sampling import sample
from tests.unit.conductor.common.cell_db.cell_changes import (
    SHORT_STORIES,
    STORIES,
    assert_deleted,
    assert_in,
    assert_other_is_gone,
    begun,
    came_back,
    went,
)
from tests.unit.conductor.common.cell_db.two_cells import TwoCells

pytestmark = pytest.mark.sampled_tests(every=3)

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
