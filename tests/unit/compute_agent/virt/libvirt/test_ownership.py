"""Whose files are, on the way from one host to another that shares them."""

from __future__ import annotations

from pathlib import Path

import pytest

from compute_agent.virt.libvirt.ownership import Ownership, let_go


def read(directory: Path) -> tuple[str | None, str | None]:
    note = Ownership.read(directory)
    return note.owner, note.former


@pytest.fixture
def taken_over(tmp_path: Path) -> Path:
    """Return files of a guest that left host a and arrived at host b, for the time being."""
    Ownership(owner="a").leaving().write(tmp_path)
    Ownership.read(tmp_path).taken_by("b").write(tmp_path)
    return tmp_path


def test_files_without_a_note_are_anyones(tmp_path: Path) -> None:
    assert Ownership.read(tmp_path) == Ownership()
    assert let_go(tmp_path, "a")


def test_a_guest_that_leaves_is_still_its_sources(tmp_path: Path) -> None:
    """With a token of its own each time."""
    note = Ownership(owner="a")
    note.leaving().write(tmp_path)
    assert Ownership.read(tmp_path).is_of("a")
    assert Ownership.read(tmp_path).is_moving
    assert note.leaving().token != note.leaving().token


def test_a_move_that_is_taken_back_gives_files_back(taken_over: Path) -> None:
    assert not let_go(taken_over, "b")
    assert read(taken_over) == ("a", None)
    assert let_go(taken_over, "a")


def test_a_move_that_is_final_leaves_the_files(taken_over: Path) -> None:
    """The new owner removes them one day."""
    assert not let_go(taken_over, "a")
    assert read(taken_over) == ("b", None)
    assert let_go(taken_over, "b")


def test_a_source_that_has_its_guest_again_is_not_robbed(taken_over: Path) -> None:
    """Also when the destination lets go after that."""
    Ownership.read(taken_over).staying("a").write(taken_over)
    assert not let_go(taken_over, "b")
    assert read(taken_over) == ("a", None)


def test_a_guest_that_stays_keeps_the_way_back_open(taken_over: Path) -> None:
    """A guest that is started at its destination is not yet confirmed."""
    assert Ownership.read(taken_over).staying("b") == Ownership("b", "a")


def test_a_note_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "owner.json").write_text("{")
    assert Ownership.read(tmp_path) == Ownership()
