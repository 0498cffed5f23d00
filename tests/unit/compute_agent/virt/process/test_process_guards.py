"""Supervisors are found without the directories of their workloads, and nothing runs twice."""

import shutil
import sys
from pathlib import Path

import psutil
import pytest

from armillary import exception
from compute_agent.virt.process import guard_connection, process_guards
from compute_agent.virt.process.process_driver import DIRECTORY_NAME
from compute_agent.virt.process.process_guest import ProcessGuest
from compute_agent.virt.process.process_strays import Strays
from tests.fixtures.agent.processes import Processes
from tests.fixtures.asking import wait_for

pytestmark = pytest.mark.sampled_tests(every=2)


@pytest.fixture
def lost(processes: Processes):
    """Return a driver and a workload that runs on while all directories are lost."""
    instance = processes.spawn_ready("sh -c 'echo ready; sleep 300'")
    shutil.rmtree(processes.state_path / DIRECTORY_NAME)
    return processes, instance


def test_a_workload_without_its_directory_still_runs(lost) -> None:
    """It is listed as running, by the same agent and by one that starts."""
    processes, instance = lost
    assert processes.power(instance) is None or processes.power(instance) == ("running", None)
    processes.restart()
    assert processes.power(instance) == ("running", None)


def test_a_start_finds_the_running_workload(lost) -> None:
    """No second copy is started beside it."""
    processes, instance = lost
    processes.restart()
    before = processes.of(instance)
    assert processes.driver.power_on(instance).power_state == "running"
    assert processes.driver.spawn(instance).power_state == "running"
    assert processes.of(instance) == before


def test_it_can_be_stopped_and_started_again(lost) -> None:
    """Its directory is there again, with all that the agent needs."""
    processes, instance = lost
    processes.restart()
    processes.driver.power_off(instance.uuid, grace_seconds=1.0)
    assert processes.of(instance) == []
    processes.driver.power_on(instance)
    assert processes.power(instance) == ("running", None)


def test_it_can_be_destroyed(lost) -> None:
    """Nothing of it is left."""
    processes, instance = lost
    processes.restart()
    processes.driver.destroy(instance.uuid)
    assert processes.of(instance) == []
    assert not processes.directory(instance).exists()


def test_a_directory_from_an_older_copy_does_not_hide_it(processes: Processes) -> None:
    """The copy says that the workload has ended; its supervisor knows better."""
    instance = processes.spawn("sleep 300")
    processes.driver.power_off(instance.uuid, grace_seconds=1.0)
    folder = processes.directory(instance)
    copy = shutil.copytree(folder, folder.parent.with_name("copy"))
    processes.driver.power_on(instance)
    before = processes.of(instance)
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)
    processes.restart()
    assert processes.power(instance) == ("running", None)
    processes.driver.power_on(instance)
    assert processes.of(instance) == before


def test_a_paused_workload_stays_paused(processes: Processes) -> None:
    """Its supervisor is stopped with it, and continues for the answer alone."""
    instance = processes.spawn("sleep 300")
    processes.driver.pause(instance.uuid)
    workload = psutil.Process(processes.pids(instance)["workload"])
    shutil.rmtree(processes.state_path / DIRECTORY_NAME)
    processes.restart()
    assert processes.power(instance) == ("paused", None)
    assert workload.status() == psutil.STATUS_STOPPED
    processes.driver.unpause(instance.uuid)
    assert processes.power(instance) == ("running", None)
    wait_for(lambda: workload.status() != psutil.STATUS_STOPPED, "it continues", 5, 0.02)


def test_a_second_supervisor_is_refused(lost, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that overlooks the first one cannot start a second: the address is taken."""
    processes, instance = lost
    before = processes.of(instance)
    monkeypatch.setattr(process_guards, "restore", lambda guest: None)
    monkeypatch.setattr(process_guards, "list_guarded", lambda parent: set())
    monkeypatch.setattr(Strays, "end", lambda strays, uuid: None)
    processes.driver.init_host([])
    with pytest.raises(exception.BuildFailed, match="another one of it is alive"):
        processes.driver.spawn(instance)
    assert processes.of(instance) == before
    monkeypatch.undo()
    assert processes.power(instance) == ("running", None)


def test_only_own_supervisors_are_listed(lost) -> None:
    """Those of another state directory belong to another agent."""
    processes, instance = lost
    parent = processes.state_path / DIRECTORY_NAME
    assert process_guards.list_guarded(parent) == {instance.uuid}
    assert process_guards.list_guarded(parent.with_name("other")) == set()


def test_a_supervisor_that_does_not_answer_hides_no_other_workload(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs, as far as can be said; the others are listed as ever."""
    monkeypatch.setattr(guard_connection, "ANSWER_SECONDS_MAX", 0.2)
    other, instance = processes.spawn("sleep 300"), processes.spawn("sleep 300")
    shim = psutil.Process(processes.pids(instance)["shim"])
    shutil.rmtree(processes.directory(instance))
    processes.directory(instance).write_text("in the way")  # the directory cannot be made again
    try:
        assert processes.power(instance) == ("running", None)
        assert processes.power(other) == ("running", None)
        processes.restart()
        assert processes.power(other) == ("running", None)
    finally:
        processes.directory(instance).unlink()
    assert processes.power(instance) == ("running", None)
    assert shim.is_running()


def test_a_workload_that_was_stopped_for_a_snapshot_runs_again(processes: Processes) -> None:
    """The agent is killed in the middle of it, and the directory is lost: no user paused it."""
    instance = processes.spawn("sleep 300")
    ProcessGuest(processes.directory(instance), "host").hold("running")
    workload = psutil.Process(processes.pids(instance)["workload"])
    shutil.rmtree(processes.state_path / DIRECTORY_NAME)
    processes.restart()
    assert processes.power(instance) == ("running", None)
    wait_for(lambda: workload.status() != psutil.STATUS_STOPPED, "it continues", 5, 0.02)


@pytest.fixture
def unguarded(lost):
    """Return a driver and a workload that runs on without its directory and its supervisor."""
    processes, instance = lost
    workload = min(processes.of(instance))
    shim = psutil.Process(workload).parent()
    while "process_shim" not in " ".join(shim.cmdline()):
        shim = shim.parent()
    shim.kill()
    wait_for(lambda: not shim.is_running() or shim.status() == psutil.STATUS_ZOMBIE, "it ends", 5)
    assert processes.of(instance)
    return processes, instance


def test_a_workload_without_directory_and_supervisor_is_found(unguarded) -> None:
    """By the marks in its environment, when an agent starts."""
    processes, instance = unguarded
    processes.restart()
    assert processes.power(instance) == ("running", None)
    processes.driver.destroy(instance.uuid)
    assert processes.of(instance) == []
    assert processes.power(instance) is None


@pytest.mark.parametrize("knows", [True, False])
def test_it_never_runs_beside_a_new_start(unguarded, *, knows: bool) -> None:
    """Whether or not the agent has looked for it."""
    processes, instance = unguarded
    before = processes.of(instance)
    (processes.state_path / DIRECTORY_NAME).mkdir()
    if knows:
        processes.restart()
    processes.driver.spawn(instance)
    assert processes.of(instance)
    assert not set(processes.of(instance)) & set(before)


def test_what_runs_for_a_state_directory_that_was_moved_is_found(processes: Processes) -> None:
    """Its supervisor has another address, and would start it again."""
    instance = processes.spawn_ready("sh -c 'echo ready; sleep 300'", restart="always")
    before = processes.of(instance)
    moved = Processes(processes.state_path.with_name("moved"))
    moved.driver.init_host([instance])
    try:
        assert moved.power(instance) == ("running", None)
        moved.driver.spawn(instance)
        assert not set(moved.of(instance)) & set(before)
        assert moved.power(instance) == ("running", None)
    finally:
        moved.clear()
    assert moved.of(instance) == []


def test_a_workload_cannot_pass_for_another_one(processes: Processes) -> None:
    """Its environment says so, but not its supervisor."""
    other = processes.instance("sleep 300")
    marks = Strays(processes.state_path / DIRECTORY_NAME, processes.driver.host).marks(other.uuid)
    told = " ".join(f"{name}={value}" for name, value in marks.items())
    instance = processes.spawn_ready(f"sh -c 'echo ready; env {told} sleep 300'")
    processes.restart()
    assert processes.power(other) is None
    processes.driver.spawn(other)
    assert processes.power(instance) == ("running", None)
    assert len(processes.of(instance)) == 1  # its shell; the other one goes by another name


def test_a_workload_cannot_pass_for_the_supervisor_of_another_one(
    processes: Processes, tmp_path: Path
) -> None:
    """It has the name of one and is below its own: the other one is not taken for running by it."""
    other = processes.instance("sleep 300")
    marks = Strays(processes.state_path / DIRECTORY_NAME, processes.driver.host).marks(other.uuid)
    forged = tmp_path / "process_shim.py"
    forged.write_text(
        "import os, subprocess\n"
        f"told = {{**os.environ, **{marks!r}}}\n"
        "subprocess.run(['sh', '-c', 'echo ready; exec sleep 300'], env=told)\n"
    )
    instance = processes.spawn_ready(f"{sys.executable} -S {forged} /any/{other.uuid}")
    processes.restart()
    assert processes.power(other) is None
    processes.driver.spawn(other)
    assert processes.power(instance) == ("running", None)
    assert len(processes.of(instance)) == 1  # its shell; the other one goes by another name
