"""The demo's own control plane as a child process."""

import sys
from pathlib import Path

import pytest

from programs.demo.control_plane import ControlPlane, DemoFailed, expect

ANSWERS = """
import pathlib, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
pathlib.Path({state_dir!r}, "api-url").write_text("http://127.0.0.1:1")
while True:
    time.sleep(0.1)
"""
IS_DEAF = ANSWERS.replace("lambda *_: sys.exit(0)", "signal.SIG_IGN")
ENDS = "import sys; print('boom'); sys.exit(7)"


@pytest.fixture
def plane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ControlPlane:
    """Return one whose program is what the test writes into ``program.py``."""
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {tmp_path}/program.py "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    return ControlPlane(tmp_path, ["name=a", "name=b"], "[simulated]\n")


def write(plane: ControlPlane, program: str) -> None:
    code = program.format(state_dir=str(plane.state_dir))
    (plane.state_dir / "program.py").write_text(code)


def test_it_is_asked_for_all_hosts_on_a_free_port(plane: ControlPlane) -> None:
    """With its configuration beside its state."""
    assert plane.arguments == [
        "up",
        "--port=0",
        f"--state-dir={plane.state_dir}",
        f"--config-file={plane.state_dir}/demo.conf",
        "--simulated=name=a",
        "--simulated=name=b",
    ]
    write(plane, ENDS)
    plane.start()
    plane.stop(10)
    assert (plane.state_dir / "demo.conf").read_text() == "[simulated]\n"


def test_it_is_up_when_it_says_where(plane: ControlPlane) -> None:
    """And ends when it is told to."""
    write(plane, ANSWERS)
    plane.start()
    assert plane.wait_for_url(30) == "http://127.0.0.1:1"
    assert plane.stop(30) == 0


def test_one_that_ends_is_shown_with_its_last_words(plane: ControlPlane) -> None:
    """A port in use, a broken configuration."""
    write(plane, ENDS)
    plane.start()
    with pytest.raises(DemoFailed, match=r"(?s)ended with exit code 7:.*boom"):
        plane.wait_for_url(30)


def test_one_that_never_answers_is_given_up(plane: ControlPlane) -> None:
    """After a while."""
    write(plane, "import time; time.sleep(60)")
    plane.start()
    with pytest.raises(DemoFailed, match=r"did not answer within 0.3 s"):
        plane.wait_for_url(0.3)
    plane.stop(0.1)


def test_one_that_does_not_end_is_killed(plane: ControlPlane) -> None:
    """Nothing is left behind."""
    write(plane, IS_DEAF)
    plane.start()
    plane.wait_for_url(30)
    assert plane.stop(0.2) == -9


def test_one_that_was_never_started_needs_no_stop(plane: ControlPlane) -> None:
    """The clean-up comes at any time."""
    assert plane.stop(1) is None


def test_what_is_as_it_should_be_is_passed_over() -> None:
    """Nothing happens."""
    expect(True, "x")


def test_what_is_not_is_said() -> None:
    """In the words given."""
    with pytest.raises(DemoFailed, match=r"^2 of 3 are there$"):
        expect(False, "2 of 3 are there")
