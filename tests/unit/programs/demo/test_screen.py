"""Screen of the demo, without a terminal, and the commands that it shows and runs."""

import io
from typing import NoReturn

import pytest
from rich.console import Console

from programs.commands.flavor import ListFlavors
from programs.demo.control_plane import DemoFailed
from programs.demo.screen import CommandLine, Screen


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def screen(out: io.StringIO) -> Screen:
    """Return a screen that is a file, 40 characters wide."""
    return Screen(Console(file=out, width=40, highlight=False))


def test_nothing_is_taken_for_markup(screen: Screen, out: io.StringIO) -> None:
    """Names and messages come from others; lines are not broken."""
    text = f"[bold]x[/bold] {'y' * 60}"
    screen.say(text)
    screen.table(("A", "B"), [("[red]1", "2")])
    assert out.getvalue().splitlines()[0] == text
    assert "[red]1" in out.getvalue()


def test_commands_can_be_typed_as_they_are_shown(screen: Screen, out: io.StringIO) -> None:
    """With quotes where a shell needs them."""
    screen.command(["image", "create", "a b"])
    screen.typed("export A=1")
    assert out.getvalue() == "$ armillary image create 'a b'\n$ export A=1\n"


def test_waiting_is_one_plain_line(screen: Screen, out: io.StringIO) -> None:
    """No moving line where nothing moves."""
    with screen.waiting("Starting") as say:
        say("1 of 2")
    assert out.getvalue() == "Starting ...\n"


def test_a_heading_begins_a_part(screen: Screen, out: io.StringIO) -> None:
    """With an empty line before it."""
    screen.heading("Hosts")
    assert out.getvalue().startswith("\nHosts ──")


def test_a_terminal_shows_a_line_that_changes() -> None:
    """It is gone when the wait is over."""
    out = io.StringIO()
    screen = Screen(Console(file=out, width=40, force_terminal=True))
    with screen.waiting("Starting") as say:
        say("1 of 2")
    assert "1 of 2" in out.getvalue()
    erased_line = "\x1b[2K"
    assert out.getvalue().endswith(erased_line)


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
