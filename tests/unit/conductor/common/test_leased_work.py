"""Tests of the engine of leased work: what recovery finds, what a pool has no room for."""

from collections.abc import Sequence

import pytest

from armillary import exception
from armillary.metrics import service_figures
from conductor.common import leased_work
from conductor.common.leased_work import LeasedWork, Recovery, Release, Step
from conductor.common.leases import Lease
from tests.fixtures.control_plane import ControlPlane


class Found(LeasedWork):
    """Work that only notes what it is to resume."""

    def __init__(self, plane: ControlPlane) -> None:
        super().__init__(plane.database, plane.builds.leases)
        self.keys: list[str] = []

    def resume(self, keys: Sequence[str]) -> list[Lease]:
        self.keys.extend(keys)
        return [self.leases.held(key) for key in keys]


def look(plane: ControlPlane, batch_size_max: int = 10) -> list[str]:
    plane.conf.set_override("recovery_batch_size_max", batch_size_max, group="conductor")
    found = Found(plane)
    assert Recovery(plane.conf, database=plane.database, works=[found]).run() == len(found.keys)
    return found.keys


def test_work_in_progress_is_left_alone(plane: ControlPlane) -> None:
    """Its lease has not run out."""
    plane.create()
    assert look(plane) == []


def test_work_left_lying_is_found(plane: ControlPlane) -> None:
    """As much as one look may take up."""
    for _ in range(3):
        plane.create()
    plane.clock.advance(60)
    assert len(look(plane)) == 3
    assert len(look(plane, batch_size_max=2)) == 2


def test_a_row_is_taken_once(plane: ControlPlane) -> None:
    """Another conductor that looked at the same time gets nothing."""
    plane.create()
    plane.clock.advance(60)
    work = Found(plane)
    keys = look(plane)
    assert [lease.key for lease in work.take(keys)] == keys
    assert work.take(keys) == []


def test_a_released_row_is_free_after_its_pause(plane: ControlPlane) -> None:
    """Recovery, here or elsewhere, takes it again then."""
    plane.create()
    plane.clock.advance(60)
    work = Found(plane)
    (lease,) = work.take(look(plane))
    work.release([Release(lease, 5.0, {"failure": "no answer"})])
    assert look(plane) == []
    plane.clock.advance(5)
    assert look(plane) == [lease.key]


def test_only_leases_that_were_not_released_count_as_taken_over(plane: ControlPlane) -> None:
    """A retry is resumed, too, but its worker lives."""
    figures = service_figures.FigureReporter(service_figures.SUPER_CONDUCTOR)

    def taken_over() -> float:
        return figures.read()["leases_taken_over_total"]

    plane.create()
    plane.clock.advance(60)
    before = taken_over()
    work = Found(plane)
    (lease,) = work.take(look(plane))
    assert taken_over() == before + 1
    work.release([Release(lease)])
    assert look(plane) == [lease.key]
    assert taken_over() == before + 1


def test_a_release_without_a_database_is_left_to_the_lease(
    plane: ControlPlane, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It expires by itself."""

    def unavailable(*_arguments: object) -> None:
        raise exception.DatabaseUnavailable(name="API", reason="gone")

    plane.create()
    plane.clock.advance(60)
    work = Found(plane)
    (lease,) = work.take(look(plane))
    monkeypatch.setattr(plane.database, "run_in_writer", unavailable)
    work.release([Release(lease)])
    assert "they will expire" in caplog.text


def test_steps_are_undone_backwards_whether_they_ran_or_not() -> None:
    """A step without an undo has changed nothing."""
    seen: list[str] = []
    undo_first, undo_third = (lambda to: to.append("undo 1")), (lambda to: to.append("undo 3"))
    steps = [
        Step[list[str], None]("first", lambda to: to.append("do 1"), undo=undo_first),
        Step[list[str], None]("second", lambda to: to.append("do 2")),
        Step[list[str], None]("third", lambda to: to.append("do 3"), undo=undo_third),
    ]
    leased_work.run(seen, steps[:2], lambda name: seen.append(name))
    leased_work.unwind(seen, steps)
    assert seen == ["first", "do 1", "second", "do 2", "undo 3", "undo 1"]
