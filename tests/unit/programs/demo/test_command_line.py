"""``armillary`` commands from within the demo."""

from __future__ import annotations

import io
from typing import NoReturn

import pytest
from rich.console import Console

from programs.commands.flavor import ListFlavors
from programs.demo.command_line import CommandLine
from programs.demo.expectation import DemoFailed
from programs.demo.screen import Screen


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def armillary(url: str, out: io.StringIO) -> CommandLine:
    """Return what runs commands on the API of the test."""
    return CommandLine(url, Screen(Console(file=out, width=80)), stderr=io.StringIO())


def test_a_command_is_shown_and_run(armillary: CommandLine, out: io.StringIO) -> None:
    """What it prints is the caller's."""
    printed = armillary.run("flavor", "create", "x", "--ram", "64", "-f", "value", "-c", "name")
    assert printed == "x\n"
    assert out.getvalue() == "$ armillary flavor create x --ram 64 -f value -c name\n"


def test_json_is_asked_for_behind_the_scene(armillary: CommandLine, out: io.StringIO) -> None:
    """The user would look at a table."""
    assert armillary.ask("flavor", "list") == []
    assert out.getvalue() == "$ armillary flavor list\n"


def test_another_line_may_stand_for_it(armillary: CommandLine, out: io.StringIO) -> None:
    """A shorter one."""
    armillary.run("flavor", "list", shown="armillary flavor …")
    assert out.getvalue() == "$ armillary flavor …\n"


def test_another_exit_code_than_expected_fails_the_demo(armillary: CommandLine) -> None:
    """A failure may be what is expected."""
    armillary.run("flavor", "show", "x", exit_code=3)
    with pytest.raises(
        DemoFailed, match=r"'armillary flavor show' ended with exit code 3, expected 0"
    ):
        armillary.run("flavor", "show", "x")
    with pytest.raises(DemoFailed, match="exit code 0, expected 1"):
        armillary.run("flavor", "list", exit_code=1)


def test_ctrl_c_ends_more_than_the_command(
    armillary: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is meant for the demo."""

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(ListFlavors, "take_action", interrupt)
    with pytest.raises(KeyboardInterrupt):
        armillary.run("flavor", "list")
