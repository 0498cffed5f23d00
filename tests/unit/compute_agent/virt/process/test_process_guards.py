"""Supervisors are found without the directories of their workloads, and nothing runs twice."""

from __future__ import annotations

import shutil

import psutil
import pytest

from armillary import exception
from compute_agent.virt.process import process_guards
from compute_agent.virt.process.process_driver import DIRECTORY_NAME
from tests.fixtures.asking import wait_for
from tests.fixtures.processes import Processes


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
