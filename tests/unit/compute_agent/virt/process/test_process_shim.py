"""The shim: small, on its own, keeps a bounded console, ends everything with the main process."""

import os
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import compute_agent
from armillary import exception
from compute_agent.virt.process.shim.json_files import write_json
from compute_agent.virt.process.shim.process_stats import read_stat
from compute_agent.virt.process.shim.restarts import Restarts
from compute_agent.virt.process.shim.spec import Restart
from objects.instance import Instance
from tests.fixtures.agent.processes import Processes
from tests.fixtures.asking import wait_for

pytestmark = pytest.mark.sampled_tests(every=2)

MIB = 2**20


def test_it_stands_on_the_standard_library_alone() -> None:
    """It is run without site packages, beside each workload."""
    root = Path(compute_agent.__file__).parent.parent
    load = "import sys; sys.path.append(sys.argv[1]); import compute_agent.virt.process.shim."
    say = "supervisor; print(*sys.modules)"
    command = [sys.executable, "-I", "-S", "-c", load + say, str(root)]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "compute_agent.virt.process.shim.supervisor" in loaded
    others = {name.split(".")[0] for name in loaded} - {"__main__", "compute_agent"}
    assert others <= sys.stdlib_module_names


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


def test_one_long_line_is_not_an_exception(processes: Processes) -> None:
    """Whatever the workload writes together, the bound holds."""
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
    """Also what has left its session; the end is known immediately all the same."""
    processes.set_options(stop_grace_seconds=0.2)
    instance = processes.spawn("sh -c 'trap \"\" TERM; setsid sleep 300 & sleep 0.3; exit 4'")
    assert processes.wait_ended(instance) == 4
    wait_for(lambda: processes.of(instance) == [], "the rest ends, too", 10, 0.05)
    shim = processes.pids(instance)["shim"]
    wait_for(lambda: (stat := read_stat(shim)) is None or stat.has_ended, "and it")


def test_it_writes_files_whole_or_not_at_all(tmp_path: Path) -> None:
    """Who reads at any moment reads the old content or the new one."""
    path = tmp_path / "file.json"
    write_json(path, {"a": 1})
    write_json(path, {"a": 2})
    assert path.read_text() == '{"a": 2}'
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.json"]


@pytest.mark.parametrize("name", ["plain", "with ) and ( in it", "spaces and 1 2 3"])
def test_a_process_is_read_whatever_its_name(tmp_path: Path, name: str) -> None:
    """A program may call itself as it likes."""
    program = tmp_path / name
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "300"], start_new_session=True) as process:
        stat = read_stat(process.pid)
        process.kill()
    assert stat is not None
    assert (stat.parent, stat.session) == (os.getpid(), process.pid)
    ticks = os.sysconf("SC_CLK_TCK")
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    assert uptime - stat.start / ticks < 60


def test_a_process_that_is_gone_reads_as_none() -> None:
    """There is none with this number."""
    assert read_stat(2**22 + 1) is None


# Restarting ---------------------------------------------------------------------------------------


def counting(code: int) -> str:
    """Return a command that says how often it ran, and ends after its start was watched."""
    return f"sh -c 'echo x >> runs; wc -l < runs; sleep 0.15; exit {code}'"


def runs(processes: Processes, instance: Instance) -> int:
    return len((processes.directory(instance) / "home" / "runs").read_text().splitlines())


@pytest.mark.parametrize(
    ("policy", "code"), [("on-failure", 3), ("always", 3), ("always", 0)],
    ids=["on_failure", "always_failed", "always_done"],
)  # fmt: skip
def test_a_policy_starts_it_again(processes: Processes, policy: str, code: int) -> None:
    """That does not end it; the console says so each time; a stop returns its last exit code."""
    processes.set_options(restart_delay_seconds=0.1, restart_delay_seconds_max=0.1)
    instance = processes.spawn(counting(code), restart=policy)
    wait_for(lambda: "\n3\n" in processes.console(instance), "it ran three times", 20, 0.02)
    assert processes.power(instance) == ("running", None)
    console = processes.console(instance)
    assert re.search(rf"\[armillary\] ended with exit code {code} after \d+\.\d", console)
    assert "restart 2 in 0.1 s\n3\n" in console
    processes.driver.power_off(instance.uuid, grace_seconds=1.0)
    power = processes.power(instance)
    assert power in (("shutdown", code), ("shutdown", 143))
    assert processes.of(instance) == []


@pytest.mark.parametrize(
    ("policy", "code"), [(None, 3), ("never", 3), ("on-failure", 0)],
    ids=["default", "never", "done"],
)  # fmt: skip
def test_what_no_policy_wants_again_has_ended(
    processes: Processes, policy: str | None, code: int
) -> None:
    """With its exit code."""
    processes.set_options(restart_delay_seconds=0.1)
    instance = processes.spawn(counting(code), restart=policy)
    assert processes.wait_ended(instance) == code
    assert runs(processes, instance) == 1


def test_a_bad_end_immediately_is_a_failed_build_in_spite_of_the_policy(
    processes: Processes,
) -> None:
    """Another host may do better."""
    processes.set_options(settle_seconds=5.0)
    with pytest.raises(exception.BuildFailed, match="exit code 3"):
        processes.driver.spawn(processes.instance("sh -c 'exit 3'", restart="always"))


def test_it_is_stopped_while_it_waits(processes: Processes) -> None:
    """Immediately, however long that would be."""
    processes.set_options(restart_delay_seconds=300.0, restart_delay_seconds_max=300.0)
    instance = processes.spawn(counting(3), restart="always")
    wait_for(lambda: "restart 1 in 300 s" in processes.console(instance), "it waits", 20, 0.02)
    assert processes.driver.power_off(instance.uuid, grace_seconds=1.0).exit_code == 3
    assert runs(processes, instance) == 1


def test_a_command_that_is_gone_is_tried_again(processes: Processes, tmp_path: Path) -> None:
    """Another process may be about to replace it."""
    processes.set_options(restart_delay_seconds=0.1, restart_delay_seconds_max=0.1)
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nsleep 0.3\n")
    program.chmod(0o755)
    instance = processes.spawn(str(program), restart="always")
    program.unlink()
    wait_for(lambda: "restart failed: command" in processes.console(instance), "it tried", 20)
    program.write_text("#!/bin/sh\necho back\nsleep 300\n")
    program.chmod(0o755)
    wait_for(lambda: "back\n" in processes.console(instance), "it runs again", 20)


def test_delays_double_up_to_their_bound() -> None:
    """And begin again after it ran for longer than that."""
    restarts = Restarts(Restart("always", 1.0, 5.0, 0.1))
    assert [restarts.next_delay(0.5) for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert restarts.next_delay(5.1) == 1.0
    assert restarts.count == 6


def test_a_policy_that_is_none_is_the_image_s_mistake(processes: Processes) -> None:
    """No host can do it."""
    with pytest.raises(exception.BuildAborted, match="process_restart is 'sometimes'"):
        processes.driver.spawn(processes.instance("sleep 300", restart="sometimes"))
