"""The program ``armillary demo``: what it leaves behind, and its exit code."""

import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from programs.demo import program
from programs.demo.control_plane import DemoFailed
from programs.demo.story import Story


class Told:
    """What became of the stories that were told."""

    def __init__(self) -> None:
        self.ending: Callable[[], None] = lambda: None
        self.cleaned_up = 0
        self.state_dir = Path()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Told:
    """Let every story end as the test says, in a directory of the test."""
    told = Told()

    def tell(self: Story) -> None:
        told.state_dir = self.plane.state_dir
        assert told.state_dir.is_dir()
        told.ending()

    def clean_up(self: Story) -> None:
        told.cleaned_up += 1

    monkeypatch.setattr(Story, "tell", tell)
    monkeypatch.setattr(Story, "clean_up", clean_up)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return told


def fail() -> None:
    raise DemoFailed(reason="2 of 3 are there")


def interrupt() -> None:
    raise KeyboardInterrupt


def test_a_demo_that_went_well_leaves_nothing(told: Told) -> None:
    """Exit code 0."""
    assert program.main([]) == 0
    assert told.cleaned_up == 1
    assert not told.state_dir.exists()


def test_its_directory_can_be_kept(told: Told) -> None:
    """For a user who wants to look at the log."""
    assert program.main(["--keep"]) == 0
    assert told.state_dir.is_dir()


def test_a_demo_that_failed_says_why_and_keeps_its_log(
    told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, and where to look."""
    told.ending = fail
    assert program.main([]) == 1
    out = capsys.readouterr().out
    assert "The demo failed: 2 of 3 are there" in out
    assert str(told.state_dir) in out
    assert told.state_dir.is_dir()
    assert told.cleaned_up == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_demo_cleans_up(number: signal.Signals, told: Told) -> None:
    """Ctrl-C, a closed terminal, a CI run that is over."""
    told.ending = lambda: os.kill(os.getpid(), number)
    assert program.main([]) == 130
    assert told.cleaned_up == 1
    assert not told.state_dir.exists()


def test_a_mistake_of_our_own_cleans_up_too(told: Told) -> None:
    """And is not hidden."""
    told.ending = lambda: [][0]
    with pytest.raises(IndexError):
        program.main([])
    assert told.cleaned_up == 1
    assert told.state_dir.is_dir()
