"""Workloads are held by their supervisors while their agent is stalled."""

import psutil
import pytest

from compute_agent.virt.process.shim.lease import Lease, lease_now
from objects.instance import Instance
from tests.fixtures.agent.processes import Processes
from tests.fixtures.asking import wait_for


def extend(processes: Processes, seconds: float, *, is_strict: bool = False) -> None:
    processes.driver.extend_lease(lease_now() + seconds, is_strict=is_strict)


def is_held(processes: Processes, instance: Instance) -> bool:
    workload = psutil.Process(processes.pids(instance)["workload"])
    return workload.status() == psutil.STATUS_STOPPED


def test_it_is_held_once_the_lease_is_over_and_continues(processes: Processes) -> None:
    """The agent is there and does not renew the lease: it is stalled."""
    extend(processes, 0.3)
    instance = processes.spawn("sleep 300")
    wait_for(lambda: is_held(processes, instance), "it is held", 10, 0.02)
    assert processes.power(instance) == ("running", None)
    extend(processes, 300)
    wait_for(lambda: not is_held(processes, instance), "it continues", 10, 0.02)


def test_what_is_held_can_be_destroyed_immediately(processes: Processes) -> None:
    """It could not end by itself, so it is given no time to do so."""
    processes.set_options(stop_grace_seconds=600.0)
    extend(processes, -1.0)
    instance = processes.spawn("sleep 300")
    wait_for(lambda: is_held(processes, instance), "it is held", 10, 0.02)
    processes.driver.destroy(instance.uuid)
    assert processes.of(instance) == []


@pytest.mark.parametrize("is_strict", [False, True])
def test_a_lease_without_an_agent_holds_only_if_it_is_strict(
    processes: Processes, is_strict: bool
) -> None:
    """Agents are restarted and replaced while their workloads run."""
    lease = Lease(str(processes.driver._lease.path))
    extend(processes, -1.0, is_strict=is_strict)
    processes.driver.close()
    lease.look()
    assert lease.is_over is is_strict


def test_a_new_workload_is_held_without_its_agent_until_it_is_confirmed(
    processes: Processes,
) -> None:
    """The conductor does not know yet that it is here, and may let it run elsewhere."""
    extend(processes, -1.0)
    processes.driver.close()
    known, new = processes.spawn("sleep 300"), processes.spawn("sleep 300")
    processes.driver.note_unconfirmed({new.uuid})
    wait_for(lambda: is_held(processes, new), "the new one is held", 10, 0.02)
    wait_for(lambda: not is_held(processes, known), "the other one continues", 20, 0.02)
    processes.restart()  # knows of the new one
    processes.driver.note_unconfirmed(set())
    wait_for(lambda: not is_held(processes, new), "it continues", 20, 0.02)


def test_without_a_file_there_is_no_lease(processes: Processes) -> None:
    """A lost state directory holds nothing."""
    lease = Lease(str(processes.state_path / "missing"))
    lease.look()
    assert not lease.is_over
