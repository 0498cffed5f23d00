"""Workloads that move while they are off, between two agents of this machine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE
from compute_agent.virt.driver import GuestInfo
from compute_agent.virt.process.process_guest import ProcessGuest
from compute_agent.virt.process.process_lifecycle import Workloads
from objects.instance import Instance
from objects.instances.instance_command import NEEDS_SOURCE
from tests import builders
from tests.fixtures.agent.processes import Processes
from tests.fixtures.asking import wait_for

pytestmark = pytest.mark.sampled_tests(every=2)

FAILED = exception.OperationFailed
COMMAND = "sh -c 'ls; touch kept; echo ready; exec sleep 300'"


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Processes]:
    """Return the driver of another host."""
    made = Processes(tmp_path / "there", host="agent-2")
    yield made
    made.clear()


def detach(here: Processes, instance: Instance) -> dict[str, Any]:
    return here.driver.detach(instance.uuid, grace_seconds=1.0)


def attach(
    there: Processes, instance: Instance, migration_payload: dict[str, Any], *, is_on: bool = True
) -> GuestInfo:
    return there.driver.attach(instance, ANYWHERE, migration_payload, is_on=is_on)


def is_moving(here: Processes, instance: Instance) -> bool:
    return next(
        guest.is_moving
        for guest in here.driver.list_guests()
        if guest.instance_uuid == instance.uuid
    )


def test_a_workload_is_taken_over_with_its_files_and_new_limits(
    processes: Processes, there: Processes
) -> None:
    """Each step twice; its source keeps it, off, until it is destroyed there."""
    instance = processes.spawn_ready(COMMAND)
    for _ in range(2):
        migration_payload = detach(processes, instance)
    assert processes.of(instance) == []
    assert is_moving(processes, instance)
    instance.flavor = builders.a_flavor(memory_mb=777)
    for _ in range(2):
        assert attach(there, instance, migration_payload).power_state == "running"
    assert len(there.of(instance)) == 1
    wait_for(lambda: there.console(instance) == "kept\nready\n", "it has its file", 20)
    workload = psutil.Process(there.pids(instance)["workload"])
    assert workload.environ()["HOME"] == str(there.directory(instance) / "home")
    assert workload.rlimit(psutil.RLIMIT_DATA)[0] == 777 * 2**20
    processes.driver.destroy(instance.uuid)
    assert there.power(instance) == ("running", None)


def test_what_was_shelved_and_offloaded_has_its_files_again(processes: Processes) -> None:
    """All of it is in what is kept, so its host may drop it; it comes back there or elsewhere."""
    instance = processes.spawn_ready(COMMAND)
    migration_payload = detach(processes, instance)
    assert not migration_payload.get(NEEDS_SOURCE)
    processes.driver.destroy(instance.uuid)
    assert not processes.directory(instance).exists()
    assert attach(processes, instance, migration_payload).power_state == "running"
    wait_for(lambda: processes.console(instance) == "kept\nready\n", "it has its file", 20)


def test_a_workload_that_was_off_arrives_off(processes: Processes, there: Processes) -> None:
    """And can be started there."""
    instance = processes.spawn_ready(COMMAND)
    migration_payload = detach(processes, instance)
    for _ in range(2):
        assert attach(there, instance, migration_payload, is_on=False).power_state == "shutdown"
    assert not is_moving(there, instance)
    assert there.driver.power_on(instance).power_state == "running"


def test_a_move_is_taken_back(processes: Processes, there: Processes) -> None:
    """Destroyed there, powered on here."""
    instance = processes.spawn_ready(COMMAND)
    attach(there, instance, detach(processes, instance))
    there.driver.destroy(instance.uuid)
    processes.driver.power_on(instance)
    assert processes.power(instance) == ("running", None)
    assert not is_moving(processes, instance)
    processes.driver.power_off(instance.uuid, grace_seconds=1.0)
    assert not is_moving(processes, instance)


def test_its_own_host_may_take_it_over(processes: Processes) -> None:
    """Then it has other limits, and nothing else has happened to it."""
    instance = processes.spawn_ready(COMMAND)
    migration_payload = detach(processes, instance)
    instance.flavor = builders.a_flavor(memory_mb=777)
    assert attach(processes, instance, migration_payload).power_state == "running"
    workload = psutil.Process(processes.pids(instance)["workload"])
    assert workload.rlimit(psutil.RLIMIT_DATA)[0] == 777 * 2**20
    assert (processes.directory(instance) / "home" / "kept").exists()


def test_what_comes_back_has_the_files_of_where_it_was(
    processes: Processes, there: Processes
) -> None:
    """Not those that were left behind and never cleared up."""
    instance = processes.spawn_ready(COMMAND)
    attach(there, instance, detach(processes, instance), is_on=False)
    (there.directory(instance) / "home" / "newer").touch()
    attach(processes, instance, detach(there, instance), is_on=False)
    assert (processes.directory(instance) / "home" / "newer").exists()


def test_too_many_files_leave_it_running(processes: Processes) -> None:
    """It was not even ended."""
    instance = processes.spawn_ready("sh -c 'head -c 5000 /dev/zero > a; echo ready; sleep 300'")
    before = processes.pids(instance)
    processes.set_options(move_files_max_bytes=4096)
    with pytest.raises(FAILED, match="larger than 4096 bytes"):
        detach(processes, instance)
    assert processes.pids(instance) == before
    assert processes.power(instance) == ("running", None)


def test_files_that_it_writes_when_it_ends_are_counted(processes: Processes) -> None:
    """It is started again then."""
    trap = 'trap "head -c 5000 /dev/zero > a; exit" TERM'
    instance = processes.spawn_ready(f"sh -c '{trap}; echo ready; while :; do sleep 0.05; done'")
    processes.set_options(move_files_max_bytes=4096)
    with pytest.raises(FAILED, match="larger than 4096 bytes"):
        detach(processes, instance)
    assert processes.power(instance) == ("running", None)
    assert not is_moving(processes, instance)


def test_one_that_cannot_be_started_there_leaves_nothing(
    processes: Processes, there: Processes
) -> None:
    """With the reason."""
    instance = processes.spawn_ready(COMMAND)
    migration_payload = detach(processes, instance)
    assert instance.image is not None
    instance.image.properties["process_command"] = "no-such-command-here"
    with pytest.raises(FAILED, match="'no-such-command-here' cannot be run"):
        attach(there, instance, migration_payload)
    assert there.driver.list_guests() == []
    assert list((there.state_path / "processes").iterdir()) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"driver": "simulated"}, "a different driver: simulated"),
        ({"files": [{"path": "../x", "mode": 0o600, "data": ""}]}, "malformed"),
        ({"argv": []}, "malformed"),
        ({"argv": ["a\0"]}, "malformed"),
        ({"environment": {"A": 1}}, "malformed"),
        ({"restart_policy": "sometimes"}, "malformed"),
    ],
    ids=["driver", "files", "argv", "zero", "environment", "policy"],
)
def test_migration_payload_that_is_none_is_refused(
    there: Processes, change: dict[str, Any], reason: str
) -> None:
    """Another host may send anything; the command is only read where no image says it."""
    instance = there.instance("sleep 300")
    instance.image = None
    migration_payload = {"driver": "process", "host": "x", "argv": ["sleep", "300"],
                         "environment": {}, "restart_policy": "never", "files": []}  # fmt: skip
    with pytest.raises(FAILED, match=reason):
        attach(there, instance, {**migration_payload, **change})
    assert there.driver.list_guests() == []
    attach(there, instance, migration_payload, is_on=False)


class Killed(BaseException):
    """Stands for kill -9 of the agent."""


def killed(*_: object, **__: object) -> None:
    raise Killed


def test_a_detach_that_was_killed_can_be_done_again(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was ended, and no shim wrote that down."""
    instance = processes.spawn_ready(COMMAND)
    with monkeypatch.context() as patch:
        patch.setattr(ProcessGuest, "note_detached", killed)
        with pytest.raises(Killed):
            detach(processes, instance)
    processes.restart()
    assert [entry["path"] for entry in detach(processes, instance)["files"]] == ["kept"]
    assert is_moving(processes, instance)


@pytest.mark.parametrize(
    ("owner", "step"),
    [(ProcessGuest, "_write_spec"), (Workloads, "start"), (ProcessGuest, "wait_started")],
    ids=["unpacking", "before_start", "during_start"],
)
def test_an_attach_that_was_killed_can_be_done_again(
    processes: Processes, there: Processes, monkeypatch: pytest.MonkeyPatch, owner: type, step: str
) -> None:
    """One process, with its files."""
    instance = processes.spawn_ready(COMMAND)
    migration_payload = detach(processes, instance)
    with monkeypatch.context() as patch:
        patch.setattr(owner, step, killed)
        with pytest.raises(Killed):
            attach(there, instance, migration_payload)
    there.restart()
    attach(there, instance, migration_payload)
    assert there.power(instance) == ("running", None)
    wait_for(lambda: there.console(instance) == "kept\nready\n", "it has its file", 20)
    wait_for(lambda: len(there.of(instance)) == 1, "the commands of its start have ended", 20)


def test_a_job_that_is_done_is_not_done_again(processes: Processes, there: Processes) -> None:
    """The command came twice, and it ended in between."""
    instance = processes.spawn("sh -c 'echo work; sleep 0.2'")
    migration_payload = detach(processes, instance)
    attach(there, instance, migration_payload)
    there.wait_ended(instance)
    assert attach(there, instance, migration_payload) == GuestInfo(instance.uuid, "shutdown", 0)
    assert there.console(instance) == "work\n"


def test_a_workload_that_is_not_there_is_not_detached(processes: Processes) -> None:
    """The wrong order, or the wrong host."""
    with pytest.raises(FAILED, match="the workload does not exist"):
        detach(processes, processes.instance("sleep 300"))
