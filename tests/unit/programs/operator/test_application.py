"""Tests of what both operator's programs have in common: usage, configuration, one line each."""

import logging
from pathlib import Path

import pytest

from tests.unit.programs.operator.conftest import Run


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[DEFAULT]\nworkers = many\n", r"[DEFAULT] workers: invalid literal"),
        ("workers = 1\n", "a.conf"),
        ("[conductor]\nrole = master\n", "[conductor] role: Valid values are [super, cell]"),
    ],
    ids=["type", "syntax", "choice"],
)
def test_a_mistake_in_a_file_is_one_line_and_78(
    text: str, expected: str, run_manage: Run, tmp_path: Path
) -> None:
    """It names the file."""
    path = tmp_path / "a.conf"
    path.write_text(text)
    ended = run_manage("cell", "list", conf_file=path)
    assert (ended.code, ended.err.count("\n")) == (78, 1)
    assert ended.err.startswith("armillary-manage: ")
    assert str(path) in ended.err
    assert expected in ended.err


def test_a_program_without_a_command_is_wrong_usage(run_manage: Run) -> None:
    """It opens no shell: it may be called from a script."""
    ended = run_manage()
    assert (ended.code, ended.err) == (
        2,
        "armillary-manage: No command given; see: armillary-manage --help\n",
    )


def test_an_unknown_command_is_wrong_usage(run_manage: Run) -> None:
    """Near ones are named."""
    ended = run_manage("cells", "list")
    assert ended.code == 2
    assert "cells list" in ended.out + ended.err


def test_quiet_and_verbose_set_the_level_of_the_log(run_manage: Run) -> None:
    """A cell that does not answer is a warning, which -q leaves out."""
    for words, level in ((["-q"], "ERROR"), ([], "WARNING"), (["-v"], "INFO"), (["-vv"], "DEBUG")):
        run_manage(*words, "db", "sync")
        assert logging.getLevelName(logging.getLogger().level) == level


def test_a_log_file_is_written(run_manage: Run, conf_file: Path, tmp_path: Path) -> None:
    """What would be logged to standard error goes there."""
    conf_file.write_text(f"{conf_file.read_text()}[api]\nmisspelt = 1\n")
    run_manage("--log-file", str(tmp_path / "a.log"), "db", "sync")
    assert "Unknown option [api] misspelt" in (tmp_path / "a.log").read_text()
