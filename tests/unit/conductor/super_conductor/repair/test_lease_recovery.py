"""Tests of looking for work that was left lying."""

from __future__ import annotations

from collections.abc import Sequence

from conductor.super_conductor.repair.lease_recovery import Recovery
from tests.fixtures.control_plane import ControlPlane


def look(plane: ControlPlane, batch_size_max: int = 10) -> list[str]:
    found: list[str] = []

    def resume(keys: Sequence[str]) -> None:
        found.extend(keys)

    Recovery(plane.database, plane.parts.reservations, resume, batch_size_max=batch_size_max).run()
    return found


def test_work_in_hand_is_left_alone(plane: ControlPlane) -> None:
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
