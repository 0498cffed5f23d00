"""How far a piece of work is, on a terminal and elsewhere."""

import io

from programs.display.progress import counts_text, progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_come_now_and_then_until_the_end() -> None:
    """A log is not flooded; the same is not said twice; the caller reports the end."""
    now = 0.0
    stream = io.StringIO()
    with progress(stream, "Building web", 3, clock=lambda: now) as show:
        show(0, {"BUILD": 3})
        now = 1.0
        show(1, {"BUILD": 2, "ACTIVE": 1})  # too early
        now = 2.5
        show(1, {"BUILD": 2, "ACTIVE": 1})
        now = 9.0
        show(1, {"BUILD": 2, "ACTIVE": 1})  # nothing new
        now = 9.1
        show(3, {"BUILD": 0, "ACTIVE": 3})
    assert stream.getvalue().splitlines() == [
        "Building web: 0 of 3 (3 BUILD)",
        "Building web: 1 of 3 (1 ACTIVE, 2 BUILD)",
    ]


def test_what_may_take_long_says_so_after_a_while() -> None:
    """A short one says nothing where there is no terminal."""
    now = 0.0
    stream = io.StringIO()
    with progress(stream, "Simulated", 90, line_seconds=10.0, clock=lambda: now) as show:
        for second in range(25):
            now = float(second)
            show(second, {})
    assert stream.getvalue().splitlines() == ["Simulated: 10 of 90", "Simulated: 20 of 90"]


def test_a_terminal_has_a_bar_that_ends_with_the_last_counts() -> None:
    """It is drawn over and over."""
    stream = Terminal()
    with progress(stream, "Building web", 3) as show:
        show(3, {"ACTIVE": 2, "ERROR": 1})
    assert "Building web" in stream.getvalue()
    assert "2 ACTIVE, 1 ERROR" in stream.getvalue()


def test_quiet_is_quiet() -> None:
    """With -q."""
    stream = Terminal()
    with progress(stream, "Building web", 3, quiet=True) as show:
        show(3, {"ACTIVE": 3})
    assert stream.getvalue() == ""


def test_counts_are_read_out_without_zeros() -> None:
    """In a fixed order."""
    assert counts_text({"ERROR": 0, "BUILD": 1, "ACTIVE": 2}) == "2 ACTIVE, 1 BUILD"
