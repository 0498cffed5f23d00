"""Stories of a server that changes cells, and where it has to be after each."""

from collections.abc import Callable

import pytest

from armillary.context import admin_context
from objects.allocations.fence import FENCE_FINAL
from objects.instances.instance_command import Verb
from tests.unit.conductor.common.cell_db.two_cells import MemberCell, TwoCells


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
    """It runs in a cell; the other has a tombstone of it, or never knew it."""
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
        assert (
            other.reports.list_migrating_instances(admin_context(), agent.name, agent.hosts) == []
        )


def assert_deleted(plane: TwoCells) -> None:
    """Nothing is left of it anywhere, and nothing can be claimed for it any more."""
    assert plane.is_left() == []
    assert (plane.holders(), plane.bodies, plane.listed) == ({}, {}, [])
    assert plane.placement.fences[plane.uuid] == FENCE_FINAL
    assert plane.changes_left == 0
    for cell in plane.members.values():
        row = plane.row(cell)
        assert row is None or row.deleted_at is not None


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
