"""The process driver for real: what runs, within which limits, and what is left of it."""

import concurrent.futures
import json
import os
import pwd
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE, InstancePlacement
from compute_agent.host.pci_devices import PciDevice
from compute_agent.virt.machine import machine_pci
from compute_agent.virt.process import cgroups
from compute_agent.virt.process.process_driver import ProcessDriver
from compute_agent.virt.process.shim.guard_address import guard_address
from objects.images.image_record import INSTANCE_UUID
from objects.numa import HostCell, HostTopology, InstanceTopology, fit, format_cpus
from tests import builders
from tests.fixtures.agent import AGENT
from tests.fixtures.agent.processes import Processes
from tests.fixtures.asking import wait_for
from tests.fixtures.services import leave_out

pytestmark = pytest.mark.sampled_tests(every=2)

ROOT = Path(__file__).parents[5]
ABORTED = exception.BuildAborted
FAILED = exception.BuildFailed

# Signals 32 and 33, which no other program can set; a process that make started ignores them.
OF_THE_C_LIBRARY = 0x1_8000_0000


# What runs ----------------------------------------------------------------------------------------


def test_a_workload_runs_and_is_listed(processes: Processes) -> None:
    """It is a process of this machine, and no child of ours."""
    instance = processes.spawn("sleep 300")
    workload = psutil.Process(processes.pids(instance)["workload"])
    assert workload.cmdline() == ["sleep", "300"]
    assert processes.power(instance) == ("running", None)
    assert workload not in psutil.Process().children(recursive=True)


def test_its_environment_is_small_and_its_own(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the agent's; what the image adds; the UUID is not the image's to choose."""
    monkeypatch.setenv("OS_PASSWORD", "secret")
    environment = {"GREETING": "grüß Gott", "PATH": "/bin", "ARMILLARY_INSTANCE_UUID": "mine"}
    instance, output = processes.output_of("env", environment=environment)
    home = processes.directory(instance) / "home"
    assert set(output.splitlines()) == {
        f"ARMILLARY_INSTANCE_UUID={instance.uuid}",
        f"ARMILLARY_HOST={processes.driver.host}",
        f"ARMILLARY_GUARD={guard_address(processes.directory(instance))[1:]}",
        "GREETING=grüß Gott",
        f"HOME={home}",
        "PATH=/bin",
    }


def test_it_works_in_its_home_and_no_shell_reads_its_command(processes: Processes) -> None:
    """Quotes group words, and that is all."""
    program = "import os, sys; print(os.getcwd(), sys.argv[1:])"
    instance, output = processes.output_of(f"python3 -c '{program}' '$HOME; x' *")
    home = processes.directory(instance) / "home"
    assert output == f"{home} ['$HOME; x', '*']\n"


def test_it_inherits_no_files(processes: Processes) -> None:
    """Standard streams, and what it needs to look."""
    _instance, output = processes.output_of("ls /proc/self/fd")
    assert output.split() == ["0", "1", "2", "3"]


def test_it_inherits_no_privileges_and_no_signal_handling(processes: Processes) -> None:
    """A set-user-id program gives it nothing; nothing is ignored or blocked."""
    workload = processes.pids(processes.spawn("sleep 300"))["workload"]
    status = Path(f"/proc/{workload}/status").read_text()
    assert "NoNewPrivs:\t1" in status
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert int(fields["SigIgn"], 16) & ~OF_THE_C_LIBRARY == 0
    assert int(fields["SigBlk"], 16) == 0


@pytest.mark.parametrize(
    ("command", "environment", "reason"),
    [
        ("'unbalanced", None, "malformed"),
        (
            "no-such-command-anywhere",
            None,
            "'no-such-command-anywhere' cannot be run: No such file",
        ),
        ("/etc/passwd", None, "cannot be run: Permission denied"),
        ("/etc", None, "cannot be run: Permission denied"),
        ("true", "{", "malformed"),
        ("true", "[1]", "not a JSON object of strings"),
        ("true", {"A": 1}, "not a JSON object of strings"),
        ("true", {"A=B": "x"}, "not a JSON object of strings"),
        ("true", {"": "x"}, "not a JSON object of strings"),
        ("true", {"A": "x\0y"}, "not a JSON object of strings"),
    ],
)
def test_what_no_host_can_run_is_aborted(
    processes: Processes, command: str | None, environment: object, reason: str
) -> None:
    """With a reason that the image's owner understands, and nothing left."""
    instance = processes.instance(command, environment)
    with pytest.raises(ABORTED, match=reason):
        processes.driver.spawn(instance)
    assert not processes.directory(instance).exists()


@pytest.mark.parametrize("command", [None, "  "])
def test_an_image_without_a_command_is_for_hosts_of_another_kind(
    processes: Processes, command: str | None
) -> None:
    """A hypervisor of a mixed fleet can boot it, so the build is tried there."""
    instance = processes.instance(command, None)
    with pytest.raises(exception.ImageUnsupported, match="no property process_command"):
        processes.driver.spawn(instance)
    assert not processes.directory(instance).exists()


def test_a_file_that_is_not_a_program_is_aborted(processes: Processes, tmp_path: Path) -> None:
    """It may be executed, and cannot."""
    path = tmp_path / "nonsense"
    path.write_bytes(b"\x00\x01\x02")
    path.chmod(0o755)
    with pytest.raises(ABORTED, match="Exec format error"):
        processes.driver.spawn(processes.instance(str(path)))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"process_command": ""}, "no property process_command"),
        ({INSTANCE_UUID: builders.a_uuid()}, "this host does not have the data of image"),
    ],
    ids=["command", "data"],
)
def test_what_a_rebuild_needs_is_looked_for_before_the_workload_ends(
    processes: Processes, changes: dict[str, str], reason: str
) -> None:
    """What cannot be had is said, and the workload runs on."""
    instance = processes.spawn("sleep 300")
    pids = processes.pids(instance)
    with processes.driver.ready_to_rebuild(instance):
        pass
    assert instance.image is not None
    properties = {**instance.image.properties, **changes}
    wanted = instance.with_values(image=builders.an_image(properties=properties))
    with pytest.raises((ABORTED, FAILED), match=reason), processes.driver.ready_to_rebuild(wanted):
        pass
    assert processes.pids(instance) == pids


@pytest.mark.parametrize("is_on", [True, False], ids=["on", "off"])
@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", ""])
def test_a_workload_whose_new_one_fails_is_put_back(
    processes: Processes, *, is_on: bool, is_killed: bool
) -> None:
    """With its files and its own command, also after a kill of the agent; nothing else is left."""
    instance = processes.spawn_ready("sh -c 'touch mine; echo ready; exec sleep 300'")
    driver = processes.driver
    if not is_on:
        driver.power_off(instance.uuid, grace_seconds=0)
    processes.set_options(settle_seconds=1.0)
    wanted = processes.instance("sh -c 'exit 3'").with_values(uuid=instance.uuid)
    with driver.ready_to_rebuild(wanted) as can_set_aside:
        assert can_set_aside
        driver.set_aside(instance.uuid)
        assert processes.power(instance) == ("shutdown", None)
        if is_killed:
            processes.restart()
            driver = processes.driver
            driver.set_aside(instance.uuid)
        with pytest.raises(FAILED, match="exit code 3"):
            driver.spawn(wanted)
    assert driver.put_back(wanted, ANYWHERE) is is_on
    assert (processes.directory(instance) / "home" / "mine").exists()
    power = processes.power(instance)
    assert power is not None
    assert power[0] == ("running" if is_on else "shutdown")
    assert driver.put_back(wanted, ANYWHERE) is None
    driver.destroy(instance.uuid)
    assert list(processes.directory(instance).parent.glob("[0-9a-f]*")) == []


@pytest.mark.parametrize("has_new", [True, False], ids=["new one runs", "set aside"])
def test_a_hard_reboot_settles_a_rebuild_that_was_given_up(
    processes: Processes, *, has_new: bool
) -> None:
    """The new workload if it runs, else the former one with its files; the other one is removed."""
    instance = processes.spawn("sleep 300")
    driver = processes.driver
    driver.set_aside(instance.uuid)
    now = processes.instance("sleep 301").with_values(uuid=instance.uuid) if has_new else instance
    if has_new:
        driver.spawn(now)
    (processes.directory(instance).parent / f"{instance.uuid}.former/home/kept").touch()
    driver.reboot(now, ANYWHERE, is_hard=True, grace_seconds=0)
    assert (processes.directory(instance) / "home" / "kept").exists() is not has_new
    assert processes.power(instance) == ("running", None)
    left = [path.name for path in processes.directory(instance).parent.glob("[0-9a-f]*")]
    assert left == [instance.uuid]


@pytest.mark.parametrize("is_deleted", [True, False], ids=["deleted", "replaced"])
def test_of_a_replaced_workload_nothing_is_left(processes: Processes, *, is_deleted: bool) -> None:
    instance = processes.spawn("sleep 300")
    processes.driver.set_aside(instance.uuid)
    if is_deleted:
        processes.driver.destroy(instance.uuid)
    else:
        processes.driver.spawn(processes.instance("sleep 301").with_values(uuid=instance.uuid))
        processes.driver.drop_aside(instance.uuid)
    left = [path.name for path in processes.directory(instance).parent.glob("[0-9a-f]*")]
    assert left == ([] if is_deleted else [instance.uuid])


def test_a_process_that_ends_immediately_has_failed(processes: Processes) -> None:
    """The reason has its exit code and its last line; nothing is left."""
    instance = processes.instance("sh -c 'echo beginning; echo no licence >&2; exit 3'")
    processes.set_options(settle_seconds=5.0)
    with pytest.raises(FAILED, match="exit code 3; its last line was: no licence"):
        processes.driver.spawn(instance)
    assert not processes.directory(instance).exists()


def test_a_process_that_is_done_immediately_was_built(processes: Processes) -> None:
    """With exit code 0 it did what it should."""
    processes.set_options(settle_seconds=5.0)
    guest = processes.driver.spawn(processes.instance("true"))
    assert (guest.power_state, guest.exit_code) == ("shutdown", 0)


# Limits -------------------------------------------------------------------------------------------

ALLOCATE = "python3 -c 'x = bytearray({} * 2**20); print(len(x))'"


def test_more_memory_than_the_flavor_has_cannot_be_had(processes: Processes) -> None:
    """By resource limits: the workload's request for it fails."""
    processes.set_options(settle_seconds=10.0)
    with pytest.raises(FAILED, match="MemoryError"):
        processes.driver.spawn(processes.instance(ALLOCATE.format(300), memory_mb=128))


def test_as_much_memory_as_the_flavor_has_can_be_had(processes: Processes) -> None:
    """Or nearly."""
    processes.set_options(settle_seconds=10.0)
    guest = processes.driver.spawn(processes.instance(ALLOCATE.format(90), memory_mb=128))
    assert guest.exit_code == 0


def test_it_runs_on_as_many_cpus_as_it_has(processes: Processes) -> None:
    """Those that the fewest others share; all of them when it has as many."""
    available = os.sched_getaffinity(0)
    if len(available) < 2:
        leave_out("A second CPU", "this machine has one")
    one, two, all_of_them = (
        os.sched_getaffinity(processes.pids(processes.spawn("sleep 300", vcpus=vcpus))["workload"])
        for vcpus in (1, 1, len(available))
    )
    assert (len(one), len(two)) == (1, 1)
    assert one != two
    assert all_of_them == available


def a_place(cells: list[HostCell], pinned: int, shared: int = 0) -> InstancePlacement:
    """Return a place in the first cell, and a device."""
    vcpus = [*range(pinned, pinned + shared)]
    topology = InstanceTopology.from_plain(
        {
            "cells": [{"id": 0, "vcpus": vcpus, "pinned_vcpus": [*range(pinned)], "memory_mb": 64}],
            "cpu_policy": "mixed" if shared else "dedicated",
        }
    )
    fitted = fit(HostTopology(tuple(cells)), topology)
    assert fitted is not None
    return InstancePlacement(fitted, (PciDevice("0000:01:00.0", "8086", "10ed"),))


def test_a_workload_runs_at_its_place_and_is_told_of_it(processes: Processes) -> None:
    """On its CPUs; cells and devices in its environment, which the image cannot change."""
    cells = list(processes.driver.get_numa_cells())
    place = a_place(cells, pinned=1)
    cpus = place.cpus(cells)
    assert cpus is not None
    environment = {"ARMILLARY_CPUS": "mine", "ARMILLARY_PCI_DEVICES": "mine"}
    instance = processes.instance("sh -c 'env | grep ^ARM; sleep 300'", environment)
    processes.driver.spawn(instance, place)
    wait_for(lambda: "CELLS" in processes.console(instance), "it has said all", 20, 0.02)
    assert os.sched_getaffinity(processes.pids(instance)["workload"]) == cpus
    assert set(processes.console(instance).splitlines()) >= {
        f"ARMILLARY_CPUS={min(cpus)}",
        f"ARMILLARY_NUMA_CELLS={cells[0].id}",
        "ARMILLARY_PCI_DEVICES=0000:01:00.0",
    }


def test_the_driver_remembers_places(processes: Processes) -> None:
    """An agent that has lost its journal gives nothing away twice."""
    place = a_place(list(processes.driver.get_numa_cells()), pinned=1)
    processes.driver.spawn(processes.instance("sleep 300"), place)
    processes.restart()
    assert [guest.place for guest in processes.driver.list_guests()] == [place]


def test_dedicated_cpus_are_kept_free_of_others(processes: Processes) -> None:
    """A workload without CPUs of its own runs on the shared ones, however many it asks for."""
    first, *rest = sorted(os.sched_getaffinity(0))
    if not rest:
        leave_out("A second CPU", "this machine has one")
    processes.conf.set_override("cpu_shared_set", str(first), group="compute")
    processes.conf.set_override("cpu_dedicated_set", format_cpus(rest), group="compute")
    processes.restart()
    resources = processes.driver.get_resources()
    assert (resources.vcpus, resources.pcpus) == (1, len(rest))
    for vcpus in (1, 8):
        workload = processes.pids(processes.spawn("sleep 300", vcpus=vcpus))["workload"]
        assert os.sched_getaffinity(workload) == {first}
    cells = list(processes.driver.get_numa_cells())
    if first in cells[0].cpus and cells[0].pcpus:
        mixed = a_place(cells, pinned=1, shared=1).cpus(cells)
        assert mixed is not None
        assert first in mixed
        assert len(mixed - {first}) == 1


def test_devices_are_those_that_the_operator_names(processes: Processes) -> None:
    """None without a word of theirs."""
    assert processes.driver.get_pci_devices() == ()
    processes.conf.set_override("device_spec", ['{"vendor_id": "*"}'], group="pci")
    processes.restart()
    assert len(processes.driver.get_pci_devices()) == len(machine_pci.devices())


def test_cgroups_hold_a_workload_where_they_can_be_made(processes: Processes) -> None:
    """With limits if the controllers are there; the cgroup goes with the workload."""
    name = f"armillary-test-{os.getpid()}"
    if cgroups.find(name, AGENT) is None:
        leave_out("A cgroup of version 2", "this machine lets us make none")
    processes.set_options(limits="auto", cgroup_parent=name)
    processes.restart()
    found = processes.driver._cgroups
    assert found is not None
    instance = processes.spawn("sh -c 'setsid sleep 300 & exec sleep 300'", memory_mb=64, swap_mb=8)
    cgroup = found.parent / instance.uuid
    assert (
        str(processes.pids(instance)["workload"]) in (cgroup / "cgroup.procs").read_text().split()
    )
    if found.can_limit:
        assert (cgroup / "memory.max").read_text().strip() == str(64 * 2**20)
    processes.driver.destroy(instance.uuid)
    assert not cgroup.exists()
    found.parent.rmdir()
    found.parent.parent.rmdir()


def test_what_moved_to_another_agent_of_the_machine_runs_on(
    processes: Processes, tmp_path: Path
) -> None:
    """The source forgets it when the move is confirmed, or when it comes back from the dead."""
    name = f"armillary-test-{os.getpid()}"
    if cgroups.find(name, AGENT) is None:
        leave_out("A cgroup of version 2", "this machine lets us make none")
    other = Processes(tmp_path / "other", host="agent2")
    for each in (processes, other):
        each.set_options(limits="auto", cgroup_parent=name)
        each.restart()
    instance = processes.spawn("sleep 300")
    processes.driver.power_off(instance.uuid, grace_seconds=0)
    other.driver.spawn(instance)
    processes.driver.destroy(instance.uuid)
    assert other.power(instance) == ("running", None)
    other.clear()
    assert other.of(instance) == []
    for each in (processes, other):
        assert each.driver._cgroups is not None
        parent = each.driver._cgroups.parent
        parent.rmdir()
    parent.parent.rmdir()


def test_cgroups_that_were_demanded_and_are_not_there_stop_the_agent(processes: Processes) -> None:
    """An operator who relies on the limits is told."""
    processes.set_options(limits="cgroup", cgroup_parent="no/such/place")
    with pytest.raises(exception.ConfigurationError, match="limits = cgroup"):
        processes.restart()


# Surviving, ending --------------------------------------------------------------------------------


def test_a_workload_survives_the_agent_and_its_exit_code_is_known(processes: Processes) -> None:
    """The next agent finds it running, sees it end, and knows how."""
    flag = processes.state_path / "flag"
    instance = processes.spawn(f"sh -c 'while [ ! -e {flag} ]; do sleep 0.05; done; exit 42'")
    processes.restart()
    assert processes.power(instance) == ("running", None)
    flag.touch()
    assert processes.wait_ended(instance) == 42


AN_AGENT = """
import json, sys
from tests import builders
from tests.fixtures.agent.processes import Processes
from pathlib import Path
processes = Processes(Path(sys.argv[1]))
print(processes.spawn(sys.argv[2]).uuid, flush=True)
sys.stdin.read()
"""


def test_a_workload_survives_kill_9_of_the_agent(processes: Processes) -> None:
    """A real one, in a process of its own, with its whole process group."""
    flag = processes.state_path / "flag"
    command = f"sh -c 'while [ ! -e {flag} ]; do sleep 0.05; done; exit 42'"
    with subprocess.Popen(
        [sys.executable, "-c", AN_AGENT, str(processes.state_path), command],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, process_group=0, cwd=ROOT,
    ) as agent:  # fmt: skip
        assert agent.stdout is not None
        instance = processes.instance(command)
        instance.uuid = agent.stdout.readline().strip()
        os.killpg(agent.pid, signal.SIGKILL)
    assert processes.power(instance) == ("running", None)
    flag.touch()
    assert processes.wait_ended(instance) == 42


@pytest.mark.parametrize(("signal_name", "code"), [("KILL", 137), ("TERM", 143)])
def test_a_signal_shows_as_128_and_its_number(
    processes: Processes, signal_name: str, code: int
) -> None:
    """As in a shell."""
    instance = processes.spawn(f"sh -c 'sleep 0.3; kill -{signal_name} $$'")
    assert processes.wait_ended(instance) == code


def test_spawning_twice_is_one_process(processes: Processes) -> None:
    """A crash in the middle of a build; the second time it is just found."""
    instance = processes.spawn("sleep 300")
    workload = processes.pids(instance)["workload"]
    assert processes.driver.spawn(instance).power_state == "running"
    assert processes.pids(instance)["workload"] == workload
    assert len(processes.of(instance)) == 1


def test_spawning_what_has_ended_since_says_how(processes: Processes) -> None:
    """It outlived the time in which an end is a failure."""
    instance = processes.spawn("sh -c 'sleep 0.3; exit 5'")
    processes.wait_ended(instance)
    guest = processes.driver.spawn(instance)
    assert (guest.power_state, guest.exit_code) == ("shutdown", 5)


def test_a_half_built_workload_is_built_again(processes: Processes) -> None:
    """What a crash left before anything ran is removed first."""
    instance = processes.instance("sleep 300")
    (processes.directory(instance) / "home").mkdir(parents=True)
    assert processes.driver.spawn(instance).power_state == "running"


def test_what_a_power_cut_ended_is_built_again(processes: Processes) -> None:
    """Its processes are of another boot, and no shim saw them end before it was reported."""
    instance = processes.spawn("sleep 300")
    path = processes.directory(instance) / "processes.json"
    noted = json.loads(path.read_text())
    processes.driver.destroy(instance.uuid)
    path.parent.mkdir()
    path.write_text(json.dumps({**noted, "boot_id": "another"}))
    assert processes.power(instance) == ("shutdown", None)
    assert processes.driver.spawn(instance).power_state == "running"


# Destroying ---------------------------------------------------------------------------------------


def test_nothing_is_left_of_a_destroyed_workload(processes: Processes) -> None:
    """Neither children, nor daemons that left the session, nor files; twice is fine."""
    daemons = '(setsid sh -c "sleep 300 & sleep 300" &)'
    instance = processes.spawn(f"sh -c 'sleep 300 & setsid sleep 300 & {daemons}; sleep 300'")
    wait_for(lambda: len(processes.of(instance)) >= 5, "all children run", 10, 0.02)
    for _ in range(2):
        processes.driver.destroy(instance.uuid)
    assert processes.of(instance) == []
    assert processes.power(instance) is None
    assert not processes.directory(instance).exists()


def test_a_workload_may_say_good_bye(processes: Processes) -> None:
    """SIGTERM comes first, and there is time to do something about it."""
    farewell = processes.state_path / "farewell"
    trap = f'trap "sleep 0.1; touch {farewell}; exit" TERM'
    instance = processes.spawn_ready(f"sh -c '{trap}; echo ready; while :; do sleep 0.05; done'")
    processes.driver.destroy(instance.uuid)
    assert farewell.exists()


def test_a_workload_that_will_not_go_is_killed(processes: Processes) -> None:
    """After the grace."""
    instance = processes.spawn_ready(
        "sh -c 'trap \"\" TERM; echo ready; while :; do sleep 0.05; done'"
    )
    processes.driver.destroy(instance.uuid)
    assert processes.of(instance) == []


def test_a_workload_without_its_shim_is_seen_and_can_be_destroyed(processes: Processes) -> None:
    """The process that watches over it was killed; its exit code will not be known."""
    instance = processes.spawn("sh -c 'sleep 300 & sleep 300'")
    psutil.Process(processes.pids(instance)["shim"]).kill()
    wait_for(lambda: not psutil.pid_exists(processes.pids(instance)["shim"]), "the shim is gone")
    assert processes.power(instance) == ("running", None)
    processes.driver.destroy(instance.uuid)
    assert processes.of(instance) == []


def test_a_foreign_process_with_the_same_number_is_left_alone(processes: Processes) -> None:
    """Numbers are given again; the start time tells."""
    instance = processes.spawn("sleep 300")
    other = processes.spawn("sleep 300")
    processes.driver.destroy(instance.uuid)
    directory = processes.directory(instance)
    directory.mkdir()
    noted = json.loads((processes.directory(other) / "processes.json").read_text())
    for role in ("shim", "workload"):
        noted[role]["start"] -= 1
    (directory / "processes.json").write_text(json.dumps(noted))
    assert processes.power(instance) == ("shutdown", None)
    processes.driver.destroy(instance.uuid)
    assert processes.power(other) == ("running", None)


def test_what_was_being_removed_is_removed_at_start(processes: Processes) -> None:
    """A crash between taking it out of sight and removing it."""
    trash = processes.state_path / "processes" / ".trash-something"
    (trash / "home").mkdir(parents=True)
    processes.restart()
    assert not trash.exists()
    assert processes.driver.list_guests() == []


# The host -----------------------------------------------------------------------------------------


def test_many_at_a_time(processes: Processes) -> None:
    """Builds and deletes from several threads do not meet."""
    instances = [processes.instance("sleep 300") for _ in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        guests = list(pool.map(processes.driver.spawn, instances))
        assert {guest.power_state for guest in guests} == {"running"}
        list(pool.map(processes.driver.destroy, [instance.uuid for instance in instances]))
    assert processes.driver.list_guests() == []


def test_the_host_is_called_as_the_machine(processes: Processes) -> None:
    """One host, one node."""
    assert (processes.driver.host, processes.driver.node) == (AGENT, AGENT)


@pytest.fixture
def passable() -> Iterator[Path]:
    """Return a directory that other users may pass, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o711)
        yield Path(name)


def test_workloads_run_as_another_user(passable: Path, processes: Processes) -> None:
    """Who owns its home, and cannot write the agent's notes about it."""
    if os.geteuid() != 0:
        leave_out("Another user", "it can be taken on by root alone")
    processes.state_path = passable
    processes.set_options(workload_user="nobody")
    processes.restart()
    instance = processes.spawn_ready(
        "sh -c 'id -un; touch here && echo touched; touch ../exit.json; echo ready; sleep 300'"
    )
    assert processes.console(instance).splitlines()[:2] == ["nobody", "touched"]
    assert "Permission denied" in processes.console(instance)
    workload = psutil.Process(processes.pids(instance)["workload"])
    assert workload.gids().real == pwd.getpwnam("nobody").pw_gid


def test_an_unknown_user_stops_the_agent(processes: Processes) -> None:
    """Before the first workload needs it."""
    processes.set_options(workload_user="no-such-user")
    with pytest.raises(exception.ConfigurationError, match="user no-such-user does not exist"):
        processes.restart()


def test_a_directory_that_cannot_be_made_stops_the_agent(
    processes: Processes, tmp_path: Path
) -> None:
    """In one line."""
    (tmp_path / "file").write_text("")
    driver = ProcessDriver(processes.conf, AGENT, tmp_path / "file" / "processes")
    with pytest.raises(exception.ConfigurationError, match="cannot use the workload directory"):
        driver.init_host([])
