"""All commands at a glance."""

from __future__ import annotations

import io

import pytest

from programs.commands import COMMANDS
from programs.commands.app import ClientApp
from tests.unit.programs.conftest import Armillary


def test_every_command_has_a_line_and_all_begin_at_one_column(armillary: Armillary) -> None:
    """The exit codes stand above them."""
    ended = armillary("help")
    assert ended.code == 0
    assert "Exit codes: 0 success;" in ended.out
    listed = ended.out.partition("\ncommands:\n")[2].splitlines()
    lines = {line.strip().partition("  ")[0]: line for line in listed}
    assert set(COMMANDS) <= set(lines)
    width = max(map(len, lines))
    assert all(line[2 + width : 4 + width] == "  " for line in listed)
    assert all(line[4 + width :].strip() for line in listed)


def test_the_option_shows_the_same(armillary: Armillary) -> None:
    """Whatever a newcomer tries first."""
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        ClientApp(out, io.StringIO()).run(["--help"])
    assert ended.value.code == 0
    assert out.getvalue() == armillary("help").out


def test_one_command_is_explained_in_full(armillary: Armillary) -> None:
    """With its options."""
    ended = armillary("help", "server", "create")
    assert "usage: armillary server create" in ended.out
    assert "--flavor" in ended.out
