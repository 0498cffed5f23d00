"""Workloads that are ended and started again, given other limits, and read: each step for real."""

import concurrent.futures
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE
from compute_agent.virt.driver import Feature, GuestInfo
from compute_agent.virt.process.cgroups import Cgroups
from compute_agent.virt.process.process_guest import ProcessGuest
from compute_agent.virt.process.process_lifecycle import Workloads
from compute_agent.virt.process.workload_processes import WorkloadProcesses
from compute_agent.virt.snapshot_store import SnapshotStore
from objects.instance import Instance
from tests import builders
from tests.fixtures import waiting
from tests.fixtures.agent.processes import Processes
from tests.fixtures.asking import wait_for
from tests.fixtures.services import leave_out

pytestmark = pytest.mark.sampled_tests(every=2)

FAILED = exception.OperationFailed
DEAF = "sh -c 'trap \"\" TERM; echo ready; while :; do sleep 0.05; done'"
QUIETLY = "exec 2>/dev/null"  # a shell may say that its children were ended
POLITE = (
    f"sh -c '{QUIETLY}; trap \"echo bye; exit 9\" TERM; echo ready; while :; do sleep 0.05; done'"
)

Operation = Callable[[Processes, Instance], object]


def off(processes: Processes, instance: Instance, grace_seconds: float = 2.0) -> GuestInfo:
    return processes.driver.power_off(instance.uuid, grace_seconds=grace_seconds)


def on(processes: Processes, instance: Instance) -> GuestInfo:
    return processes.driver.power_on(instance)


def reboot(processes: Processes, instance: Instance, *, is_hard: bool = False) -> GuestInfo:
    return processes.driver.reboot(instance, ANYWHERE, is_hard=is_hard, grace_seconds=2.0)


def resize(processes: Processes, instance: Instance, *, is_on: bool = True) -> GuestInfo:
    return processes.driver.resize(instance, ANYWHERE, is_on=is_on)


def larger(instance: Instance) -> Instance:
    """Give the instance twice the memory."""
    instance.flavor = builders.a_flavor(memory_mb=2 * instance.flavor.memory_mb)
    return instance


def memory_limit_mb(processes: Processes, instance: Instance) -> float:
    workload = psutil.Process(processes.pids(instance)["workload"])
    return workload.rlimit(psutil.RLIMIT_DATA)[0] / 2**20


def test_what_it_cannot_do_is_refused(processes: Processes) -> None:
    """And says so."""
    assert frozenset(Feature) - processes.driver.features == {
        Feature.LIVE_MOVE, Feature.ADMIN_PASS, Feature.CRASH_DUMP, Feature.SERIAL_CONSOLE,
    }  # fmt: skip
    with pytest.raises(exception.OperationUnsupported):
        processes.driver.describe_live("any")


# Off and on ---------------------------------------------------------------------------------------


def test_a_workload_is_ended_and_keeps_what_it_has(processes: Processes) -> None:
    """Console and files; its exit code is known; twice is fine."""
    instance = processes.spawn_ready(POLITE.replace("echo ready", "touch kept; echo ready"))
    for _ in range(2):
        assert off(processes, instance) == GuestInfo(instance.uuid, "shutdown", 9)
    assert processes.of(instance) == []
    assert processes.console(instance) == "ready\nbye\n"
    assert (processes.directory(instance) / "home" / "kept").exists()


def test_a_workload_that_will_not_go_is_killed_after_the_grace_of_the_command(
    processes: Processes,
) -> None:
    """Not after that which it was started with."""
    processes.set_options(stop_grace_seconds=300.0)
    instance = processes.spawn_ready(DEAF)
    assert off(processes, instance, grace_seconds=0.1).exit_code == 137
    assert processes.of(instance) == []


def test_a_workload_is_started_again_with_what_it_kept(processes: Processes) -> None:
    """Twice is once; its console goes on; an agent that was killed meanwhile does as well."""
    instance = processes.spawn_ready("sh -c 'ls; touch kept; echo ready; exec sleep 300'")
    off(processes, instance)
    processes.restart()
    for _ in range(2):
        assert on(processes, instance).power_state == "running"
    wait_for(lambda: processes.console(instance) == "ready\nkept\nready\n", "it ran twice", 20)
    assert len(processes.of(instance)) == 1


def test_one_that_was_built_without_its_image_at_hand_starts_as_it_did(
    processes: Processes,
) -> None:
    """What it runs was written down."""
    instance = processes.spawn("sleep 300", environment={"COLOUR": "green"})
    off(processes, instance)
    instance.image = None
    on(processes, instance)
    workload = psutil.Process(processes.pids(instance)["workload"])
    assert workload.cmdline() == ["sleep", "300"]
    assert workload.environ()["COLOUR"] == "green"


def test_one_that_ended_by_itself_can_be_started(processes: Processes) -> None:
    """Also while the last of its children are still being ended."""
    instance = processes.spawn("sh -c 'setsid sh -c \"trap : TERM; sleep 300\" & sleep 0.2'")
    processes.wait_ended(instance)
    assert on(processes, instance).power_state == "running"


def test_one_that_ends_immediately_was_not_started(processes: Processes) -> None:
    """The reason is its exit code; it is off, and still there."""
    instance = processes.spawn("sh -c 'test ! -e flag || exit 4; touch flag; exec sleep 300'")
    off(processes, instance)
    processes.set_options(settle_seconds=10.0)
    with pytest.raises(FAILED, match=r"Power on of instance .* exit code 4"):
        on(processes, instance)
    assert processes.power(instance) == ("shutdown", 4)


def test_many_commands_at_a_time_leave_one_process_or_none(processes: Processes) -> None:
    """Threads do not meet."""
    instance = processes.spawn("sleep 300")
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        done = [pool.submit(command, processes, instance) for command in (off, on, reboot) * 2]
    assert [future.exception() for future in done] == [None] * 6
    state = processes.power(instance)
    assert state is not None
    assert len(processes.of(instance)) == (1 if state[0] == "running" else 0)


def test_a_delete_does_not_wait_for_the_grace_of_a_stop(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shim is notified, and need not be killed."""
    monkeypatch.setattr(WorkloadProcesses, "kill_shim", lambda _: pytest.fail("it did not listen"))
    instance = processes.spawn_ready(DEAF)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        stopping = pool.submit(off, processes, instance, 300.0)
        stop_command = processes.directory(instance) / "stop.json"
        wait_for(stop_command.exists, "it is being stopped", 10, 0.01)
        processes.driver.destroy(instance.uuid)
        stopping.exception(60)
    assert processes.power(instance) is None


# Reboot -------------------------------------------------------------------------------------------


def test_a_soft_reboot_asks(processes: Processes) -> None:
    """Another process, the same files and console."""
    instance = processes.spawn_ready(POLITE)
    before = processes.pids(instance)
    assert reboot(processes, instance).power_state == "running"
    assert processes.pids(instance) != before
    wait_for(lambda: processes.console(instance) == "ready\nbye\nready\n", "it is ready", 20)


def test_a_hard_reboot_asks_nothing(processes: Processes) -> None:
    """One that would say something about it does not get to."""
    instance = processes.spawn_ready(POLITE)
    reboot(processes, instance, is_hard=True)
    wait_for(lambda: processes.console(instance) == "ready\nready\n", "it is ready", 20)


def test_a_reboot_starts_what_is_off(processes: Processes) -> None:
    """As an operator expects of a machine."""
    instance = processes.spawn("sleep 300")
    off(processes, instance)
    assert reboot(processes, instance).power_state == "running"


# Resize -------------------------------------------------------------------------------------------


def test_other_resource_limits_need_another_process(processes: Processes) -> None:
    """With the new ones; the former ones come back by a resize back; twice changes nothing."""
    instance = processes.spawn("sleep 300", memory_mb=256)
    resize(processes, larger(instance))
    assert memory_limit_mb(processes, instance) == 512
    resized = processes.pids(instance)
    resize(processes, instance)
    assert processes.pids(instance) == resized
    instance.flavor = builders.a_flavor(memory_mb=256)
    resize(processes, instance)
    assert memory_limit_mb(processes, instance) == 256


class FileCgroups(Cgroups):
    """Limits in plain files, which a shim can write itself into and which kill no process."""

    def kill(self, name: str) -> None:
        pass

    def destroy(self, name: str) -> None:
        shutil.rmtree(self.parent / name, ignore_errors=True)


def test_limits_of_a_cgroup_change_while_it_runs_on(processes: Processes, tmp_path: Path) -> None:
    """The same process, up and down again."""
    (tmp_path / "cgroups").mkdir()
    processes.driver._cgroups = FileCgroups(tmp_path / "cgroups", frozenset({"cpu", "memory"}))
    processes.driver._connect()
    instance = processes.spawn("sleep 300", memory_mb=256, vcpus=1)
    before = processes.pids(instance)
    cgroup = tmp_path / "cgroups" / instance.uuid
    flavors: list[dict[str, Any]] = [{"memory_mb": 512, "vcpus": 3}, {"memory_mb": 256, "vcpus": 1}]
    for flavor in flavors:
        instance.flavor = builders.a_flavor(**flavor)
        assert resize(processes, instance).power_state == "running"
        assert processes.pids(instance) == before
        assert (cgroup / "memory.max").read_text() == str(flavor["memory_mb"] * 2**20)
        assert (cgroup / "cpu.max").read_text() == f"{flavor['vcpus'] * 100_000} 100000"


def test_a_workload_that_is_off_stays_off_and_has_the_limits_later(processes: Processes) -> None:
    """When it is started."""
    instance = processes.spawn("sleep 300", memory_mb=256)
    off(processes, instance)
    assert resize(processes, larger(instance), is_on=False).power_state == "shutdown"
    on(processes, instance)
    assert memory_limit_mb(processes, instance) == 512


def test_a_size_that_does_not_work_is_taken_back(processes: Processes) -> None:
    """It runs on as it was."""
    processes.set_options(settle_seconds=waiting.seconds(0.5))
    instance = processes.spawn(
        "sh -c '[ $(ulimit -d) -ge 100000 ] || { echo too small; exit 5; }; sleep 300'",
        memory_mb=128,
    )
    instance.flavor = builders.a_flavor(memory_mb=64)
    with pytest.raises(FAILED, match="exit code 5; its last line was: too small"):
        resize(processes, instance)
    assert memory_limit_mb(processes, instance) == 128


def test_a_workload_keeps_its_cpus_from_start_to_start(processes: Processes) -> None:
    """Also when others have become free."""
    if len(os.sched_getaffinity(0)) < 2:
        leave_out("A second CPU", "this machine has one")
    other, instance = (processes.spawn("sleep 300", vcpus=1) for _ in range(2))
    before = os.sched_getaffinity(processes.pids(instance)["workload"])
    processes.driver.destroy(other.uuid)
    reboot(processes, instance)
    assert os.sched_getaffinity(processes.pids(instance)["workload"]) == before


# Killed in the middle, and the wrong order --------------------------------------------------------


class Killed(BaseException):
    """Stands for kill -9 of the agent."""


def killed(*_: object, **__: object) -> None:
    raise Killed


def grow(processes: Processes, instance: Instance) -> GuestInfo:
    return resize(processes, larger(instance))


@pytest.mark.parametrize(
    ("operate", "owner", "step"),
    [
        (on, Workloads, "start"),
        (on, ProcessGuest, "wait_started"),
        (reboot, ProcessGuest, "renew"),
        (grow, ProcessGuest, "renew"),
        (grow, Workloads, "start"),
    ],
    ids=["power_on", "power_on_started", "reboot", "resize", "resize_before_start"],
)
def test_what_was_killed_in_the_middle_can_be_done_again(
    processes: Processes, monkeypatch: pytest.MonkeyPatch,
    operate: Operation, owner: type, step: str,
) -> None:  # fmt: skip
    """By another agent; one process runs then."""
    instance = processes.spawn("sleep 300")
    if operate is on:
        off(processes, instance)
    with monkeypatch.context() as patch:
        patch.setattr(owner, step, killed)
        with pytest.raises(Killed):
            operate(processes, instance)
    processes.restart()
    operate(processes, instance)
    assert processes.power(instance) == ("running", None)
    assert len(processes.of(instance)) == 1


@pytest.mark.parametrize(
    "operate",
    [off, on, reboot, resize, lambda made, one: made.driver.get_console_output(one.uuid, lines=1)],
    ids=["power_off", "power_on", "reboot", "resize", "console"],
)
def test_a_workload_that_is_not_there_is_an_error(processes: Processes, operate: Operation) -> None:
    """Nothing comes into being by it."""
    with pytest.raises(FAILED, match="the workload does not exist"):
        operate(processes, processes.instance("sleep 300"))
    assert processes.driver.list_guests() == []


def test_the_console_can_be_read(processes: Processes) -> None:
    """All of it, or the end."""
    instance = processes.spawn_ready("sh -c 'echo one; echo two; echo ready; exec sleep 300'")
    read = processes.driver.get_console_output
    assert read(instance.uuid, lines=None) == "one\ntwo\nready\n"
    assert read(instance.uuid, lines=2) == "two\nready\n"


def test_a_workload_is_measured(processes: Processes) -> None:
    """The sums over its processes; nothing of one that is off."""
    busy = "import time; x = bytearray(2**24)\nwhile time.process_time() < 0.1: pass\nprint(1)"
    instance = processes.spawn_ready(f"sh -c 'python3 -c \"{busy}\"; echo ready; exec sleep 300'")
    found = processes.driver.get_diagnostics(instance.uuid)
    assert (found.driver, found.power_state) == ("process", "running")
    assert found.uptime_seconds is not None
    assert found.memory_used_mb is not None
    assert len(found.cpu_seconds) == 1
    off(processes, instance)
    assert processes.driver.get_diagnostics(instance.uuid).cpu_seconds == []


def test_a_workload_has_no_administrator(processes: Processes) -> None:
    """Its password cannot be set."""
    with pytest.raises(exception.OperationUnsupported, match="password"):
        processes.driver.set_admin_password(builders.a_uuid(), "new")


def test_a_workload_has_no_kernel_of_its_own(processes: Processes) -> None:
    """None that could dump its memory."""
    with pytest.raises(exception.OperationUnsupported, match="cannot trigger a crash dump"):
        processes.driver.trigger_crash_dump(builders.a_uuid())


# Paused, suspended, rescued -----------------------------------------------------------------------

COUNTER = "sh -c 'sleep 100000 & echo ready; while :; do date +%N > now; sleep 0.01; done'"


def test_a_paused_workload_stands_still_until_it_continues(processes: Processes) -> None:
    """All its processes and its supervisor, also while the agent is another one."""
    instance = processes.spawn_ready(COUNTER)
    for _ in range(2):
        assert processes.driver.pause(instance.uuid).power_state == "paused"
    processes.restart()
    assert processes.power(instance) == ("paused", None)
    assert processes.statuses(instance) == {psutil.STATUS_STOPPED}
    for _ in range(2):
        assert processes.driver.unpause(instance.uuid).power_state == "running"
    now = processes.directory(instance) / "home" / "now"
    before = now.read_bytes()
    wait_for(lambda: now.read_bytes() not in (before, b""), "it continues", 20, 0.02)


@pytest.mark.parametrize("act", ["delete", "reboot"])
def test_a_suspended_workload_is_ended_immediately(processes: Processes, act: str) -> None:
    """It could not end by itself."""
    instance = processes.spawn_ready(DEAF)
    processes.driver.suspend(instance.uuid)
    assert processes.power(instance) == ("suspended", None)
    before = processes.pids(instance)["workload"]
    if act == "delete":
        processes.driver.destroy(instance.uuid)
        assert processes.of(instance) == []
    else:
        assert reboot(processes, instance, is_hard=True).power_state == "running"
    assert not psutil.pid_exists(before)


def test_another_image_rescues_a_workload_with_its_files(processes: Processes) -> None:
    """Until it is itself again; a bad image changes nothing."""
    instance = processes.spawn_ready("sh -c 'echo mine > file; echo ready; sleep 100000'")
    with pytest.raises(FAILED, match="no property process_command"):
        processes.driver.rescue(instance, ANYWHERE, builders.an_image(), grace_seconds=1.0)
    assert processes.power(instance) == ("running", None)
    rescuer = builders.an_image(
        properties={"process_command": "sh -c 'cat file; echo safe; sleep 100000'"}
    )
    for _ in range(2):
        guest = processes.driver.rescue(instance, ANYWHERE, rescuer, grace_seconds=1.0)
        assert guest.power_state == "running"
    wait_for(lambda: "mine\nsafe" in processes.console(instance), "the image runs", 20, 0.02)
    processes.restart()
    assert processes.driver.unrescue(instance, ANYWHERE).power_state == "running"
    wait_for(lambda: processes.console(instance).endswith("ready\n"), "it is back", 20, 0.02)


def test_a_snapshot_has_the_files_of_a_workload_that_goes_on(processes: Processes) -> None:
    """And is what another workload starts with; other data starts nowhere."""
    script = "sh -c 'cat old; mkdir d; ln -s d l; echo new > d/f; echo ready; sleep 100000'"
    instance = processes.spawn_ready(script)
    snapshot = builders.an_image(
        properties={
            "process_command": "sh -c 'cat l/f; echo ready'",
            "instance_uuid": instance.uuid,
        }
    )
    path = SnapshotStore(processes.conf).path(snapshot.id)
    path.parent.mkdir(exist_ok=True)
    processes.driver.snapshot(instance.uuid, snapshot, path)
    assert processes.power(instance) == ("running", None)
    snapshot = snapshot.with_values(sha512=hashlib.sha512(path.read_bytes()).hexdigest())
    other = builders.an_instance(image=snapshot, flavor=builders.a_flavor(memory_mb=256))
    processes.driver.spawn(other)
    processes.wait_ended(other)
    assert processes.console(other) == "new\nready\n"
    path.write_bytes(b"no archive")
    with pytest.raises(exception.BuildAborted, match="not what the image's record says"):
        processes.driver.spawn(builders.an_instance(image=snapshot))


def test_a_workload_held_for_a_snapshot_continues_with_the_next_agent(processes: Processes) -> None:
    """It is not paused: nothing else would let it continue."""
    instance = processes.spawn_ready(COUNTER)
    processes.driver._workloads.get(instance.uuid).hold("running")
    assert processes.power(instance) == ("running", None)
    processes.restart()
    statuses = processes.statuses(instance)
    assert statuses
    assert psutil.STATUS_STOPPED not in statuses


def test_only_data_of_workloads_is_fetched_in_advance(processes: Processes) -> None:
    """Without a way to the image service it has to be here; a program has no data."""
    driver = processes.driver
    driver.cache_image(builders.an_image(properties={"process_command": "sleep 9"}))
    with pytest.raises(exception.OperationUnsupported, match="made of workloads, and no other"):
        driver.cache_image(builders.an_image(disk_format="qcow2"))
    snapshot = builders.an_image(properties={"instance_uuid": builders.a_uuid()})
    with pytest.raises(exception.OperationUnsupported, match="no way to the image service"):
        driver.cache_image(snapshot)
    assert driver.get_attributes()["cached_images"] == []
    path = SnapshotStore(processes.conf).path(snapshot.id)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"data")
    driver.cache_image(snapshot)
    assert driver.get_attributes()["cached_images"] == [snapshot.id]
