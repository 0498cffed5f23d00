"""The shim: small, on its own, keeps a bounded console, ends everything with the main process."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from compute_agent.virt import process_shim
from tests.fixtures.asking import wait_for
from tests.fixtures.processes import Processes

MIB = 2**20


def test_it_stands_on_the_standard_library_alone() -> None:
    """It is run without site packages, and outlives releases of Armillary."""
    tree = ast.parse(Path(process_shim.__file__).read_text())
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [str(node.module)] if isinstance(node, ast.ImportFrom) else []
        )
    }  # fmt: skip
    assert imported <= sys.stdlib_module_names


def test_it_is_small(processes: Processes) -> None:
    """One lives beside each workload."""
    instance = processes.spawn("sleep 300")
    shim = psutil.Process(processes.pids(instance)["shim"])
    assert shim.memory_full_info().uss < 16 * MIB
    assert shim.num_threads() == 1


def test_it_has_nothing_of_the_agent(processes: Processes) -> None:
    """Neither environment nor files nor session nor working directory."""
    instance = processes.spawn("sleep 300")
    shim = psutil.Process(processes.pids(instance)["shim"])
    assert shim.environ() == {}
    assert shim.cwd() == "/"
    assert os.getsid(shim.pid) != os.getsid(0)
    paths = {file.path for file in shim.open_files()}
    assert paths <= {str(processes.directory(instance) / name) for name in ("console.log", "lock")}


def test_the_console_keeps_the_newest_output_within_its_bound(processes: Processes) -> None:
    """In two files, the older beside the newer."""
    processes.set_options(console_max_bytes=8192)
    loop = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo line $i; done"
    instance, _output = processes.output_of(f"sh -c '{loop}'")
    files = sorted(processes.directory(instance).glob("console.log*"))
    text = "".join(path.read_text() for path in reversed(files))
    assert text.endswith("line 2999\nline 3000\n")
    assert 4096 <= len(text) <= 8192


def test_one_long_line_is_no_exception(processes: Processes) -> None:
    """Whatever the workload writes at once, the bound holds."""
    processes.set_options(console_max_bytes=4096)
    instance, _output = processes.output_of("head -c 100000 /dev/zero")
    sizes = [path.stat().st_size for path in processes.directory(instance).glob("console.log*")]
    assert sum(sizes) <= 4096


def test_the_last_words_are_kept(processes: Processes) -> None:
    """What was printed right before the end is there when the end is known."""
    for _ in range(5):
        _instance, output = processes.output_of("sh -c 'sleep 0.12; echo last words; exit 1'")
        assert output == "last words\n"


def test_what_the_main_process_leaves_ends_with_it(processes: Processes) -> None:
    """Also what has left its session; the end is known at once all the same."""
    processes.set_options(stop_grace_seconds=0.2)
    instance = processes.spawn("sh -c 'trap \"\" TERM; setsid sleep 300 & sleep 0.3; exit 4'")
    assert processes.wait_ended(instance) == 4
    wait_for(lambda: processes.of(instance) == [], "the rest ends, too", 10, 0.05)
    shim = processes.pids(instance)["shim"]
    wait_for(
        lambda: (process_shim.read_stat(shim) or {"state": "Z"})["state"] == "Z", "and the shim"
    )


def test_it_writes_files_whole_or_not_at_all(tmp_path: Path) -> None:
    """Who reads at any moment reads the old content or the new one."""
    path = tmp_path / "file.json"
    process_shim.write_json(path, {"a": 1})
    process_shim.write_json(path, {"a": 2})
    assert path.read_text() == '{"a": 2}'
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.json"]


@pytest.mark.parametrize("name", ["plain", "with ) and ( in it", "spaces and 1 2 3"])
def test_a_process_is_read_whatever_its_name(tmp_path: Path, name: str) -> None:
    """A program may call itself as it likes."""
    program = tmp_path / name
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "300"], start_new_session=True) as process:
        stat = process_shim.read_stat(process.pid)
        process.kill()
    assert stat is not None
    assert (stat["parent"], stat["session"]) == (os.getpid(), process.pid)
    ticks = os.sysconf("SC_CLK_TCK")
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    assert uptime - stat["start"] / ticks < 60


def test_a_process_that_is_gone_reads_as_none() -> None:
    """There is none with this number."""
    assert process_shim.read_stat(2**22 + 1) is None
