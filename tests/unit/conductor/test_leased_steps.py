"""Every step of every kind of leased work: it fails, its conductor is killed, it runs twice.

A step that is added to a table is covered immediately, or ``test_every_step_is_in_a_story`` fails.
Which steps of conductors' work are interrupted is a sample, another one with each commit; `make
long` takes all.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

import pytest

from armillary import exception
from conductor.cell_conductor.base_task import Task
from conductor.cell_conductor.operations.engine import step_name
from conductor.cell_conductor.operations.flow import SuperStage
from conductor.cell_conductor.operations.flows import FLOWS
from conductor.common import leased_work
from conductor.common.leased_work import Step, StepHook
from conductor.super_conductor.builds import build_group, build_task
from conductor.super_conductor.delete import delete_task
from conductor.super_conductor.move import move_task
from conductor.super_conductor.permanent_failure import PermanentFailure
from objects.allocations.fence import FENCE_FINAL
from objects.cell_mapping import CELL0_UUID
from tests.fixtures.cell import Cell, a_build_request
from tests.fixtures.cell.operated_cell import OperatedCell
from tests.fixtures.cell.operation_stories import BETWEEN_CELLS, ON_B, Stage
from tests.fixtures.cell.operation_stories import STORIES as OPERATIONS
from tests.fixtures.control_plane import ControlPlane
from tests.fixtures.messages.direct_bus import Killed
from tests.fixtures.plugins.sampling import sample
from tests.unit.conductor.super_conductor.move.moves import (
    an_instance,
    assert_as_before,
    assert_moved,
    start,
)

pytestmark = pytest.mark.sampled(every=3)

EVERY = 12
OPERATIONS_EVERY = 5


@dataclasses.dataclass(frozen=True)
class Played:
    """A story that has begun.

    ``restart`` starts another conductor after a kill, and repeats what is done from outside if that
    got no answer. ``settle`` lets all work that is left be done; ``check`` is for the end.
    """

    work: Callable[[], None]
    restart: Callable[[], None]
    settle: Callable[[], None]
    check: Callable[[], None]
    check_undone: Callable[[], None] | None = None


@dataclasses.dataclass(frozen=True)
class Story:
    """Work that runs these steps in a world, which is a fixture; ``begin`` prepares it."""

    name: str
    world: str
    steps: tuple[str, ...]
    begin: Callable[[Any], Played]
    once_per_lease: Collection[str] = ()
    """Steps that only another holder of the lease may repeat."""


class StepHarness:
    """Takes the place of the engine's ``run_step`` and notes the steps that it runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ran: list[str] = []
        self._errors: dict[tuple[str, bool], BaseException] = {}
        self._once: Collection[str] | None = None
        monkeypatch.setattr(leased_work, "run_step", self._run_step)

    def interrupt(self, name: str, error: BaseException, *, when_done: bool) -> None:
        """Raise an error before or after the next run of a step that comes so far."""
        self._errors[name, when_done] = error

    def run_twice(self, *, but: Collection[str]) -> None:
        """Run each step twice from now on, ``but`` for some."""
        self._once = but

    def _run_step(
        self, work: Any, step: Step[Any, Any], watch: StepHook = leased_work.no_hook
    ) -> Any:
        self.ran.append(step.name)
        watch(step.name)
        self._raise_at(step.name, when_done=False)
        try:
            return self._do(work, step)
        finally:
            self._raise_at(step.name, when_done=True)

    def _do(self, work: Any, step: Step[Any, Any]) -> Any:
        result = step.do(work)
        if self._once is None or step.name in self._once:
            return result
        again = step.do(work)
        return None if result is None else result + again

    def _raise_at(self, name: str, *, when_done: bool) -> None:
        error = self._errors.pop((name, when_done), None)
        if error is not None:
            raise error


NO_HOST = exception.NoValidHost(reason="2 of 2 hosts lack VCPU")


def names(*tables: Any) -> tuple[str, ...]:
    return tuple(step.name for table in tables for step in table)


# The super conductor


def a_build(plane: ControlPlane, *, has_host: bool = True) -> Played:
    if not has_host:
        plane.scheduler.error = NO_HOST
    uuids = plane.create(3)

    def check(*, is_built: bool) -> None:
        plane.check(*uuids)
        cells = {cell.uuid for cell in plane.cells.values()} if is_built else {CELL0_UUID}
        assert {place for uuid in uuids for place in plane.places(uuid)} == cells

    def check_undone() -> None:
        check(is_built=False)
        assert {plane.placement.fences[uuid] for uuid in uuids} == {FENCE_FINAL}

    return Played(
        plane.workers.work, plane.start, plane.settle, partial(check, is_built=has_host),
        check_undone,
    )  # fmt: skip


def builds_together(plane: ControlPlane) -> Played:
    uuids = [uuid for _ in range(3) for uuid in plane.create()]
    return Played(
        plane.workers.work, plane.start, plane.settle, lambda: plane.check(*uuids),
    )  # fmt: skip


def a_delete(plane: ControlPlane, *, is_built: bool) -> Played:
    kept, gone = plane.build(2) if is_built else plane.create(2)

    def work() -> None:
        plane.delete(gone)
        plane.workers.work()

    return Played(work, plane.start, plane.settle, lambda: plane.check(kept))


def a_move(plane: ControlPlane, operation: str, *, has_host: bool = True) -> Played:
    plane.add_flavor("large", vcpus=4, memory_mb=2048)
    plane.map_hosts()
    uuid = an_instance(plane, operation)
    if not has_host:
        plane.scheduler.error = NO_HOST
    start(plane, uuid, operation)
    check_undone = partial(assert_as_before, plane, uuid, operation)
    check = partial(assert_moved, plane, uuid, operation) if has_host else check_undone
    return Played(plane.workers.work, plane.start, plane.settle, check, check_undone)


BUILT = names(build_task.SCHEDULE, build_task.HAND_OVER)
TOGETHER = names(build_group.SCHEDULE, build_group.HAND_OVER)
OF_OTHER_PLACES = {"delete in other cell", "drop copy in cell", "delete in zone"}
"""Cleanups after moves between cells and in zones."""
IN_CELL0 = names(build_task.SCHEDULE[:-1], build_task.STORE_IN_CELL0)
MOVED = names(move_task.STEPS)
SELECT = "select destinations of move"
TO_SELECT = MOVED[: MOVED.index(SELECT) + 1]

# A cell conductor


def a_build_in_cell(cell: Cell, *, failing: str, vm_state: str, host: str | None) -> Played:
    for name in "abc":
        cell.add_agent(name)
    cell.failing.update(dict.fromkeys(failing, True))
    request = a_build_request("a", "b", "c")
    return Played(
        lambda: cell.hand_over(request), cell.restart, cell.settle,
        lambda: cell.check(request.instance_uuid, vm_state, host),
    )  # fmt: skip


def a_delete_in_cell(cell: Cell) -> Played:
    cell.add_agent("a")
    request = a_build_request("a")
    cell.hand_over(request)
    cell.settle()
    uuid = request.instance_uuid
    return Played(
        lambda: cell.ask_delete(uuid), cell.restart, cell.settle,
        lambda: cell.check(uuid, "deleted"),
    )  # fmt: skip


CLEANUP = ("destroy leftover guest", "release source allocation", "complete evacuation")


def a_return_of_an_evacuated_host(stage: Stage) -> Played:
    evacuated = OPERATIONS["evacuate"]
    cell = stage.play(evacuated)
    cell.agents["a"].is_alive = True
    cell.agents["a"].heartbeat()
    cleaned_up = dataclasses.replace(evacuated, status="completed", **ON_B)

    def work() -> None:
        with contextlib.suppress(RuntimeError):  # the next run of the periodic task repeats it
            cell.timed.run()

    def settle() -> None:
        work()
        cell.settle()

    return Played(work, cell.restart, settle, lambda: cleaned_up.check(cell))


def an_operation(stage: Stage, name: str) -> Played:
    story = OPERATIONS[name]
    cell = stage.set(story)

    def work() -> None:
        begin, *others = story.acts()
        begin(cell)
        cell.recover()  # while the super conductor looks for hosts
        for act in others:
            act(cell)

    def restart() -> None:
        cell.restart()
        if cell.operation is not None:
            work()

    return Played(work, restart, cell.settle, lambda: story.check(cell))


STAGES = [
    (flow.operation, name)
    for flow in FLOWS.values()
    for name in flow.stages
    if flow.operation != "migrate" and (flow.operation, name) not in BETWEEN_CELLS
]
"""Operation and stage; ``migrate`` has the stages of ``resize``."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Return where stories of operations are played."""
    cell = OperatedCell(tmp_path_factory.mktemp("operations"))
    yield Stage(cell)
    cell.close()


STORIES = [
    Story("build", "plane", BUILT, a_build, {"select destinations"}),
    Story(
        "builds together", "plane", TOGETHER, builds_together, {"select destinations together"}
    ),
    Story("delete", "plane", ("delete in cell",), partial(a_delete, is_built=True)),
    Story(
        "delete before a cell knows it", "plane", ("release allocations",),
        partial(a_delete, is_built=False),
    ),
    Story("no host", "plane", IN_CELL0, partial(a_build, has_host=False)),
    Story("resize", "plane", MOVED, partial(a_move, operation="resize"), {SELECT}),
    Story(
        "resize without a host", "plane", TO_SELECT,
        partial(a_move, operation="resize", has_host=False), {SELECT},
    ),
    Story("evacuate", "plane", MOVED, partial(a_move, operation="evacuate"), {SELECT}),
    Story("unshelve", "plane", MOVED, partial(a_move, operation="unshelve"), {SELECT}),
    Story(
        "alternate in a cell", "cell", ("claim alternate", "cast build"),
        partial(a_build_in_cell, failing="a", vm_state="active", host="b"),
    ),
    Story(
        "no alternate in a cell", "cell", ("claim alternate", "cast build", "give up build"),
        partial(a_build_in_cell, failing="abc", vm_state="error", host=None),
    ),
    Story("delete in a cell", "cell", ("destroy guest", "release and delete"), a_delete_in_cell),
    Story("return of an evacuated host", "stage", CLEANUP, a_return_of_an_evacuated_host),
]  # fmt: skip
EACH_STORY = pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)


def some_ends(key: str) -> pytest.MarkDecorator:
    """Return steps to interrupt, before or after them: a sample of all."""
    ends = [
        pytest.param(story, step, when_done, id=f"{story.name}: {step}-{end}")
        for story in STORIES
        for step in story.steps
        for when_done, end in ((False, "before"), (True, "after"))
    ]
    arguments = ("story", "step", "when_done")
    return pytest.mark.parametrize(arguments, list(sample(ends, EVERY, key)))


Begin = Callable[[Story], Played]


@pytest.fixture
def begin(request: pytest.FixtureRequest) -> Begin:
    """Return what begins a story."""
    return lambda story: story.begin(request.getfixturevalue(story.world))


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> StepHarness:
    return StepHarness(monkeypatch)


def test_every_step_is_in_a_story(cell: Cell, stage: Stage) -> None:
    """But those of walks through zones, and of cleanups elsewhere: other tests have their kills.

    The steps of operations in a cell are in tests of their own below.
    """
    tables = [
        *(table for table in build_task.STEPS.values() if table is not build_task.WALK),
        build_group.SCHEDULE, build_group.HAND_OVER, move_task.STEPS, stage.cell.timed.steps,
    ]  # fmt: skip
    works: list[Task[Any]] = [cell.build, cell.delete]
    in_cell = {step.name for work in works for step in work.steps.values()}
    cleanups = {step.name for step in delete_task.STEPS.values()} - OF_OTHER_PLACES
    known = {*names(*tables), *in_cell, *cleanups}
    assert {step for story in STORIES for step in story.steps} == known


@EACH_STORY
def test_work_runs_its_steps_to_its_end(harness: StepHarness, begin: Begin, story: Story) -> None:
    """Nothing fails."""
    played = begin(story)
    played.work()
    played.settle()
    played.check()
    assert set(story.steps) <= set(harness.ran)


@EACH_STORY
def test_every_step_may_run_twice(harness: StepHarness, begin: Begin, story: Story) -> None:
    """The end is that of running each once."""
    played = begin(story)
    harness.run_twice(but=story.once_per_lease)
    played.work()
    played.settle()
    played.check()


@some_ends("failures")
def test_a_step_that_fails_is_run_again(
    harness: StepHarness, begin: Begin, story: Story, step: str, *, when_done: bool
) -> None:
    """Its outcome is unknown, so it waits for its backoff; the end is as if nothing had been."""
    played = begin(story)
    harness.interrupt(step, RuntimeError("the step fails"), when_done=when_done)
    played.work()
    played.settle()
    played.check()
    assert step in harness.ran


def work_and_settle(played: Played) -> None:
    played.work()
    played.settle()


@some_ends("kills")
def test_another_conductor_goes_on_after_a_kill_at_a_step(
    harness: StepHarness, begin: Begin, story: Story, step: str, *, when_done: bool
) -> None:
    """The lease runs out, and what is stored says what to do."""
    played = begin(story)
    harness.interrupt(step, Killed(step), when_done=when_done)
    with pytest.raises(Killed):
        work_and_settle(played)
    played.restart()
    played.settle()
    played.check()


@pytest.mark.parametrize(
    ("story", "step"),
    [
        pytest.param(story, step, id=f"{story.name}: {step}")
        for story, steps in [
            (STORIES[0], names(build_task.SCHEDULE)),
            *((story, TO_SELECT) for story in STORIES if story.steps == MOVED),
        ]
        for step in steps
    ],
)
@pytest.mark.sampled(every=2)
def test_work_that_is_given_up_at_a_step_is_undone(
    harness: StepHarness, begin: Begin, story: Story, step: str
) -> None:
    """Whatever was claimed is released."""
    played = begin(story)
    failure = PermanentFailure("It cannot be done.", "because")
    harness.interrupt(step, failure, when_done=False)
    played.work()
    played.settle()
    assert played.check_undone is not None
    played.check_undone()


# The steps of operations in a cell: one for each stage of each flow


@pytest.mark.parametrize("name", list(sample([*OPERATIONS], OPERATIONS_EVERY, "twice")))
def test_every_step_of_an_operation_may_run_twice(
    harness: StepHarness, stage: Stage, name: str
) -> None:
    """The end is that of running each once."""
    played = an_operation(stage, name)
    harness.run_twice(but=())
    work_and_settle(played)
    played.check()


@pytest.mark.parametrize(("operation", "name"), list(sample(STAGES, OPERATIONS_EVERY, "stages")))
def test_a_step_of_an_operation_fails_and_then_its_conductor_is_killed(
    harness: StepHarness, stage: Stage, operation: str, name: str
) -> None:
    """The end is as if nothing had been. A new stage needs a story that comes there."""
    comes_there = [each for each in OPERATIONS if (operation, name) in stage.stages_of(each)]
    assert comes_there
    played = an_operation(stage, comes_there[0])
    step = step_name(operation, name)
    if not isinstance(FLOWS[operation].stages[name], SuperStage):  # no wait is run again
        harness.interrupt(step, RuntimeError("the step fails"), when_done=False)
    harness.interrupt(step, Killed(step), when_done=True)
    with pytest.raises(Killed):
        work_and_settle(played)
    played.restart()
    played.settle()
    played.check()
