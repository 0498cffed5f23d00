"""``armillary demo`` on a real control plane: it ends, or is ended, and leaves nothing."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.fixtures import waiting

pytestmark = pytest.mark.sampled_file(every=3)

SECONDS_MAX = 100


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Lend a running demo without a terminal, whose directory is in that of the test."""
    with subprocess.Popen(
        [sys.executable, "-m", "programs.client", "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**_environment(), "TMPDIR": str(tmp_path)},
    ) as process:
        yield process
        process.send_signal(signal.SIGTERM)
        process.wait(waiting.seconds(SECONDS_MAX))


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), *sys.path])}


def _left_running(text: str) -> list[psutil.Process]:
    """Return the processes that a demo has started, by the marks in what it said."""
    mark = re.search(r"done' (armillary-demo-[0-9a-f]{8})", text)
    state_dir = re.search(r"--state-dir=(\S+)", text)
    assert mark
    assert state_dir
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        for word in process.info["cmdline"] or ()
        if mark[1] in word or state_dir[1] in word
    ]


def test_it_shows_all_of_it_and_leaves_nothing(demo: subprocess.Popen[str], tmp_path: Path) -> None:
    """Real and simulated ones, alternates, the one that fits nowhere, and the end."""
    text, _ = demo.communicate(timeout=SECONDS_MAX * waiting.FACTOR_MAX)
    assert demo.returncode == 0, text
    assert re.search(r"web-1 +\S+ +2 +the next best host; the build failed on: giant-01", text)
    assert re.search(r"worker-3 +\S+ +1 +the only host that fits", text)
    assert re.search(r"\d+ +64 MiB \((rlimit|cgroup)\) +1 CPU .*/bin/sh -c", text)
    assert "Why: All 21 hosts lack MEMORY_MB: 10,485,760 asked" in text
    assert "No allocation is left." in text
    seconds = re.search(r"nothing is left\. ([\d.]+) s\.", text)
    assert seconds
    assert float(seconds[1]) < 60 * waiting.machine_factor()
    assert list(tmp_path.iterdir()) == []
    assert _left_running(text) == []


@pytest.mark.long
def test_ctrl_c_in_the_middle_leaves_nothing(demo: subprocess.Popen[str], tmp_path: Path) -> None:
    """Real processes run by then, and a request of forty is on its way."""
    assert demo.stdout is not None
    lines = []
    for line in demo.stdout:
        lines.append(line)
        if "Building web: 0 of 40" in line:
            demo.send_signal(signal.SIGINT)
    text = "".join(lines)
    assert demo.wait(waiting.seconds(SECONDS_MAX)) == 130, text
    assert "Interrupted: cleaning up." in text
    assert list(tmp_path.iterdir()) == []
    assert _left_running(text) == []
