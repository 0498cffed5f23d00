"""The end of what a workload printed: in order, whole lines, bounded."""

from pathlib import Path

import pytest

from compute_agent.virt.process import process_output
from compute_agent.virt.process.process_output import NEWER, OLDER, console_output

ALL = "one\ntwo\nthree\nfour"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [(None, ALL), (3, "two\nthree\nfour"), (1, "four"), (0, ""), (9, ALL)],
    ids=["all", "from_both", "last", "none", "more_than_there_are"],
)
def test_both_files_are_one_text(tmp_path: Path, lines: int | None, expected: str) -> None:
    """The older before the newer."""
    (tmp_path / OLDER).write_text("one\ntwo\n")
    (tmp_path / NEWER).write_text("three\nfour")
    assert console_output(tmp_path, lines) == expected


def test_a_workload_that_printed_nothing_has_an_empty_console(tmp_path: Path) -> None:
    """Not even a file."""
    assert console_output(tmp_path, None) == ""


def test_a_large_console_is_cut_at_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest of it, and no half character at its begin."""
    monkeypatch.setattr(process_output, "OUTPUT_BYTES_MAX", 100)
    (tmp_path / OLDER).write_text("older\n" * 100)
    (tmp_path / NEWER).write_text("grün\n" * 10)
    text = console_output(tmp_path, None)
    assert text == "older\n" * 6 + "grün\n" * 10
    (tmp_path / NEWER).write_text("grün\n" * 100)
    assert console_output(tmp_path, None) == "grün\n" * 16


def test_a_file_that_becomes_the_older_one_is_read_once(tmp_path: Path) -> None:
    """The shim moves it between our two checks."""
    (tmp_path / NEWER).write_text("text\n")
    (tmp_path / OLDER).hardlink_to(tmp_path / NEWER)
    assert console_output(tmp_path, None) == "text\n"


def test_bytes_that_are_not_text_are_shown_as_such(tmp_path: Path) -> None:
    """Whatever a program prints."""
    (tmp_path / NEWER).write_bytes(b"\xff\n")
    assert console_output(tmp_path, None) == "\ufffd\n"
