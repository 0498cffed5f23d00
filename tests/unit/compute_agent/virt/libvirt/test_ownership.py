"""Whose files are, on the way from one host to another that shares them."""

from pathlib import Path

import pytest

from compute_agent.virt.libvirt.disks.file_storage import FileStorage
from compute_agent.virt.libvirt.disks.instance_files import InstanceFiles
from compute_agent.virt.libvirt.ownership import Ownership, let_go


@pytest.fixture
def files(tmp_path: Path) -> InstanceFiles:
    return InstanceFiles(tmp_path, FileStorage())


def read(files: InstanceFiles) -> tuple[str | None, str | None]:
    note = files.read_note()
    return note.owner, note.former


@pytest.fixture
def taken_over(files: InstanceFiles) -> InstanceFiles:
    """Return files of a guest that left host a and arrived at host b, for the time being."""
    files.write_note(Ownership(owner="a").leaving())
    files.write_note(files.read_note().taken_by("b"))
    return files


def test_files_without_a_note_are_anyones(files: InstanceFiles) -> None:
    assert files.read_note() == Ownership()
    assert let_go(files, "a")


def test_a_guest_that_leaves_is_still_its_sources(files: InstanceFiles) -> None:
    """With a token of its own each time."""
    note = Ownership(owner="a")
    files.write_note(note.leaving())
    assert files.read_note().is_of("a")
    assert files.read_note().is_moving
    assert note.leaving().token != note.leaving().token


def test_a_move_that_is_taken_back_gives_files_back(taken_over: InstanceFiles) -> None:
    assert not let_go(taken_over, "b")
    assert read(taken_over) == ("a", None)
    assert let_go(taken_over, "a")


def test_a_move_that_is_final_leaves_the_files(taken_over: InstanceFiles) -> None:
    """The new owner removes them one day."""
    assert not let_go(taken_over, "a")
    assert read(taken_over) == ("b", None)
    assert let_go(taken_over, "b")


def test_a_source_that_has_its_guest_again_is_not_robbed(taken_over: InstanceFiles) -> None:
    """Also when the destination lets go after that."""
    taken_over.write_note(taken_over.read_note().staying("a"))
    assert not let_go(taken_over, "b")
    assert read(taken_over) == ("a", None)


def test_a_guest_that_stays_keeps_the_way_back_open(taken_over: InstanceFiles) -> None:
    """A guest that is started at its destination is not yet confirmed."""
    assert taken_over.read_note().staying("b") == Ownership("b", "a")


def test_a_note_that_cannot_be_read_is_none(files: InstanceFiles, tmp_path: Path) -> None:
    (tmp_path / "owner.json").write_text("{")
    assert files.read_note() == Ownership()
