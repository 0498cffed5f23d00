"""Screen of the demo, without a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from programs.demo.screen import Screen


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
