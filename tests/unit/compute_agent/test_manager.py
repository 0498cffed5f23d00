"""The agent as a whole: over a broker in memory, with threads and simulated hosts."""

import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from armillary.concurrency.periodic import PeriodicRunner
from armillary.context import admin_context
from compute_agent.interface import ComputeAPI
from compute_agent.manager import ComputeManager
from compute_agent.reporting.admission import AdmittedServer
from compute_agent.virt.image_service import ImageService
from compute_agent.virt.loader import make_drivers
from compute_agent.virt.simulated.simulated_driver import SimulatedDriver
from conductor.cell_conductor.interface import CellConductorAPI
from objects.instance import Instance
from rpc.transport import Bus
from tests import builders
from tests.fixtures.agent import AGENT, Conductor, a_build, agent_conf
from tests.fixtures.asking import wait_for
from tests.fixtures.messages.interfaces import an_rpc_server

HOSTS = ["sim-1", "sim-2", "sim-3"]
SECONDS_MAX = 60.0


Running = tuple[ComputeManager, list[AdmittedServer], PeriodicRunner, Bus]


class Cell:
    """A broker, a conductor that answers on it, and agents that a test starts and stops."""

    def __init__(self, state_path: Path) -> None:
        self.conf = agent_conf(state_path)
        self.conf.set_override("report_interval", 1)
        self.conf.set_override(
            "hosts", ["name=sim-{1..3}:vcpus=8:memory_mb=8192:disk_gb=50"], group="simulated"
        )
        self.conf.set_override("driver", ["simulated"], group="compute")
        self.conf.set_override("guest_poll_interval_seconds", 0.1, group="compute")
        self.state_path = state_path
        self.url = f"kombu+memory:////{uuid.uuid4()}"
        self.conductor = Conductor()
        self.bus = Bus(self.conf, self.url)
        self.compute = ComputeAPI(self.bus)
        self._conductor_server = an_rpc_server(
            self.bus, CellConductorAPI, "conductor", self.conductor
        )
        self._is_serving = False
        self._agents: dict[
            str, tuple[ComputeManager, list[AdmittedServer], PeriodicRunner, Bus]
        ] = {}

    def start_conductor(self) -> None:
        self._conductor_server.start()
        self._is_serving = True

    def start(self, agent: str = AGENT, drivers: list[str] | None = None) -> ComputeManager:
        """Run an agent as a service does."""
        bus = Bus(self.conf, self.url)
        manager = ComputeManager(
            self.conf, cell_bus=bus, agent=agent, drivers=make_drivers(self.conf, drivers),
            journal_path=self.state_path / f"{agent}.sqlite",
        )  # fmt: skip
        manager.start()
        servers = manager.servers()
        for server in servers:
            server.start()
        runner = PeriodicRunner(manager.periodic_tasks())
        runner.start()
        self._agents[agent] = (manager, servers, runner, bus)
        return manager

    def stop(self, agent: str = AGENT) -> None:
        """End it as a service does."""
        manager, servers, runner, bus = self._agents.pop(agent)
        for server in servers:
            server.stop()
            server.wait()
        assert runner.stop(SECONDS_MAX)
        manager.stop(SECONDS_MAX)
        bus.close()

    def close(self) -> None:
        for agent in list(self._agents):
            self.stop(agent)
        if self._is_serving:
            self._conductor_server.stop()
            self._conductor_server.wait()
        self.bus.close()

    def build(self, host: str, agent: str = AGENT, **values: Any) -> Instance:
        """Send a build command as the conductor does, to an agent that it knows."""
        if self._is_serving:
            self.conductor.wait_for(lambda: set(self.conductor.nodes) >= self._hosts_of(agent))
        instance, spec = a_build(host, **values)
        self.conductor.expect(instance)
        self.compute.build_instances(admin_context(), agent, [instance], [spec])
        return instance

    def _hosts_of(self, agent: str) -> set[str]:
        return {driver.host for driver in self._agents[agent][0]._drivers.values()}

    def wait_for_reports(self, kind: str, count: int) -> list[tuple[Any, ...]]:
        self.conductor.wait_for(lambda: len(self.conductor.reported(kind)) >= count)
        return self.conductor.reported(kind)


@pytest.fixture
def cell(tmp_path: Path) -> Iterator[Cell]:
    """Return a cell whose conductor answers, and whose agent of three hosts runs."""
    cell = Cell(tmp_path)
    cell.start_conductor()
    cell.start()
    yield cell
    cell.close()


@pytest.fixture
def new_cell(tmp_path: Path) -> Iterator[Callable[[], Cell]]:
    """Return a function that makes a cell in which nothing runs yet."""
    made: list[Cell] = []

    def make() -> Cell:
        made.append(Cell(tmp_path))
        return made[-1]

    yield make
    for cell in made:
        cell.close()


def test_hosts_are_reported_at_start(cell: Cell) -> None:
    """All in one message, under the agent's name, after the services."""
    cell.conductor.wait_for(lambda: cell.conductor.nodes)
    assert cell.conductor.heartbeats[0] == (HOSTS, {})
    assert cell.conductor.node_messages[0] == HOSTS
    assert cell.conductor.agents == {AGENT}


def test_a_command_becomes_a_guest(cell: Cell) -> None:
    """And the host is reported with it."""
    instance = cell.build("sim-2", flavor=builders.a_flavor(vcpus=3))
    assert cell.wait_for_reports("build_succeeded", 1) == [("sim-2", instance.uuid, 1, "running")]
    cell.conductor.wait_for(
        lambda: (
            cell.conductor.attribute("sim-2", "vcpus_used") == 3
            and cell.conductor.attribute("sim-2", "num_io_ops") == 0
        )
    )


def test_a_delete_command_ends_it(cell: Cell) -> None:
    """And it is reported."""
    instance = cell.build("sim-1")
    cell.wait_for_reports("build_succeeded", 1)
    cell.compute.delete_instance(admin_context(), AGENT, instance.uuid, "sim-1")
    assert cell.wait_for_reports("instance_deleted", 1) == [("sim-1", instance.uuid)]


def test_a_build_learns_that_its_server_is_deleted(
    new_cell: Callable[[], Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that it does not wait for an image that is not needed any more."""
    services: dict[str, ImageService] = {}
    spawning = threading.Event()

    def spawn(driver: SimulatedDriver, instance: Instance, _place: object = None) -> None:
        spawning.set()
        needed = services[driver.host].is_needed
        wait_for(lambda: not needed(instance.uuid), "it is not needed any more")
        raise exception.BuildFailed(instance_uuid=instance.uuid, host=driver.host, reason="deleted")

    monkeypatch.setattr(SimulatedDriver, "spawn", spawn)
    monkeypatch.setattr(
        SimulatedDriver, "use_image_service",
        lambda driver, service: services.update({driver.host: service}),
    )  # fmt: skip
    cell = new_cell()
    cell.start_conductor()
    cell.start()
    instance = cell.build("sim-1")
    assert spawning.wait(SECONDS_MAX)
    cell.compute.delete_instance(admin_context(), AGENT, instance.uuid, "sim-1")
    assert cell.wait_for_reports("instance_deleted", 1) == [("sim-1", instance.uuid)]
    assert cell.conductor.reported("build_failed") == []


def test_an_attempt_is_forgotten(cell: Cell) -> None:
    """Without a report: the host just has nothing any more."""
    instance = cell.build("sim-1")
    cell.conductor.wait_for(lambda: cell.conductor.stat("sim-1", "num_vm_active") == 1)
    cell.compute.forget_attempt(admin_context(), AGENT, instance.uuid, "sim-1", 1)
    cell.conductor.wait_for(lambda: cell.conductor.stat("sim-1", "num_instances") == 0)
    assert cell.conductor.reported("instance_deleted") == []


def test_a_host_whose_builds_fail_says_so(cell: Cell) -> None:
    """Each failure is a report, and counted with the host."""
    cell.conf.set_override("failing_hosts", ["sim-3"], group="simulated")
    for _ in range(3):
        cell.build("sim-3")
    cell.wait_for_reports("build_failed", 3)
    cell.conductor.wait_for(lambda: cell.conductor.attribute("sim-3", "failed_builds") == 3)


def test_a_hundred_builds_on_three_hosts(cell: Cell) -> None:
    """Each is built once and reported once."""
    uuids = [cell.build(HOSTS[number % 3]).uuid for number in range(100)]
    reports = cell.wait_for_reports("build_succeeded", 100)
    assert sorted(report[1] for report in reports) == sorted(uuids)


def test_an_agent_without_a_conductor_waits_for_it(new_cell: Callable[[], Cell]) -> None:
    """It starts, takes nothing for granted, and reports when a conductor is there."""
    cell = new_cell()
    cell.start()
    cell.start_conductor()
    cell.conductor.wait_for(lambda: cell.conductor.nodes)


def test_guests_and_reports_survive_a_restart(cell: Cell) -> None:
    """The next process of the agent has the same guests, nodes and journal."""
    instance = cell.build("sim-1")
    cell.conductor.wait_for(lambda: cell.conductor.stat("sim-1", "num_vm_active") == 1)
    nodes = {host: node.uuid for host, node in cell.conductor.nodes.items()}
    cell.stop()
    cell.conductor.nodes.clear()
    cell.start()
    cell.conductor.wait_for(lambda: cell.conductor.nodes)
    assert {host: node.uuid for host, node in cell.conductor.nodes.items()} == nodes
    assert cell.conductor.stat("sim-1", "num_vm_active") == 1
    cell.compute.delete_instance(admin_context(), AGENT, instance.uuid, "sim-1")
    cell.wait_for_reports("instance_deleted", 1)


def test_an_agent_acts_only_while_it_is_the_one_of_its_name(
    cell: Cell, caplog: pytest.LogCaptureFixture
) -> None:
    """It takes no command, resumes nothing and reports nothing until its run is admitted."""
    first = cell.build("sim-1")
    cell.wait_for_reports("build_succeeded", 1)
    cell.stop()
    cell.conductor.not_admitted = "another agent of this name is alive"
    cell.conductor.nodes.clear()
    cell.start()
    waiting, spec = a_build("sim-2")
    cell.conductor.expect(waiting)
    cell.compute.build_instances(admin_context(), AGENT, [waiting], [spec])
    asked = len(cell.conductor.runs)
    cell.conductor.wait_for(lambda: len(cell.conductor.runs) >= asked + 2)
    assert cell.conductor.reported("build_succeeded") == [("sim-1", first.uuid, 1, "running")]
    assert cell.conductor.nodes == {}
    cell.conductor.not_admitted = None
    cell.wait_for_reports("build_succeeded", 2)
    cell.conductor.not_admitted = "another agent of this name is alive"
    cell.conductor.wait_for(lambda: caplog.text.count("is not admitted") == 2)
    asked = len(cell.conductor.runs)  # the agent asks again after it has closed its server
    cell.conductor.wait_for(lambda: len(cell.conductor.runs) >= asked + 2)
    cell.compute.delete_instance(admin_context(), AGENT, first.uuid, "sim-1")
    asked = len(cell.conductor.runs)
    cell.conductor.wait_for(lambda: len(cell.conductor.runs) >= asked + 1)
    assert cell.conductor.reported("instance_deleted") == []
    cell.conductor.not_admitted = None
    cell.wait_for_reports("instance_deleted", 1)


def test_an_agent_names_the_runs_that_it_follows_and_says_good_bye(cell: Cell) -> None:
    """With them its cell admits it immediately, and knows that it has ended."""
    cell.conductor.wait_for(lambda: cell.conductor.nodes)
    first = cell.conductor.runs[-1]
    cell.stop()
    farewell = cell.conductor.runs[-1]
    assert (first.follows, first.is_over) == ([], False)
    assert (farewell.id, farewell.is_over) == (first.id, True)
    cell.conductor.nodes.clear()
    cell.start()
    cell.conductor.wait_for(lambda: cell.conductor.nodes)
    second = cell.conductor.runs[-1]
    assert (second.follows, second.id != first.id) == ([first.id], True)
    assert second.nodes == {"sim-1": cell.conductor.nodes["sim-1"].uuid}


def test_a_stray_is_reaped_at_start(cell: Cell) -> None:
    """The instance was deleted while the agent was down."""
    instance = cell.build("sim-1")
    cell.conductor.wait_for(lambda: cell.conductor.stat("sim-1", "num_vm_active") == 1)
    cell.stop()
    del cell.conductor.instances[instance.uuid]
    cell.start()
    cell.conductor.wait_for(lambda: cell.conductor.stat("sim-1", "num_instances") == 0)


def test_two_agents_live_in_one_process(new_cell: Callable[[], Cell]) -> None:
    """Each with its journal; a command reaches the one it is for."""
    cell = new_cell()
    cell.start_conductor()
    cell.conf.set_override("limits", "rlimit", group="process")
    cell.start("agent-of-simulations", ["simulated"])
    cell.start("agent-of-machine", ["process"])
    cell.conductor.wait_for(lambda: len(cell.conductor.nodes) == 4)
    here = cell.build(AGENT, "agent-of-machine", image=an_image_of("sleep 60"))
    there = cell.build("sim-1", "agent-of-simulations")
    reports = cell.wait_for_reports("build_succeeded", 2)
    assert {report[:2] for report in reports} == {(AGENT, here.uuid), ("sim-1", there.uuid)}
    cell.compute.delete_instance(admin_context(), "agent-of-machine", here.uuid, AGENT)
    cell.wait_for_reports("instance_deleted", 1)


def test_one_agent_carries_hosts_of_both_drivers(new_cell: Callable[[], Cell]) -> None:
    """A real process ends by itself, and is noticed; a simulated guest does not."""
    cell = new_cell()
    cell.start_conductor()
    cell.conf.set_override("limits", "rlimit", group="process")
    cell.start(drivers=["process", "simulated"])
    ending = cell.build(AGENT, image=an_image_of("sh -c 'sleep 0.5; exit 3'"))
    cell.build("sim-1")
    cell.wait_for_reports("build_succeeded", 2)
    assert cell.wait_for_reports("instance_ended", 1) == [(AGENT, ending.uuid, 1, 3)]


@pytest.mark.parametrize("driver", ["process", "simulated"])
def test_no_command_reaches_a_path_of_the_machine(
    new_cell: Callable[[], Cell], tmp_path: Path, driver: str
) -> None:
    """Commands of an attacker, with paths in place of UUIDs, do nothing.

    The victim is deleted neither by its path, nor relative to the workloads' directory, nor through
    a link in the place of an instance's directory; no file is read.
    """
    cell = new_cell()
    cell.conf.set_override("limits", "rlimit", group="process")
    cell.start_conductor()
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "console.log").write_text("secret")
    cell.start(drivers=[driver])
    host = AGENT if driver == "process" else "sim-1"
    cell.conductor.wait_for(lambda: host in cell.conductor.nodes)
    linked = str(uuid.uuid4())
    if driver == "process":
        (tmp_path / "processes" / linked).symlink_to(victim)
    for path in (str(victim), "../victim", "..", ".", "", f"{linked}/", linked):
        cell.compute.delete_instance(admin_context(), AGENT, path, host)
        cell.compute.forget_attempt(admin_context(), AGENT, path, host, 1)
        cell.compute.abort_command(admin_context(), AGENT, path, host, 1)
        with pytest.raises(exception.ArmillaryError, match=r"must be a UUID|symbolic|not exist"):
            cell.compute.get_console_output(admin_context(), AGENT, path, host, lines=None)
    built = cell.build(host, image=an_image_of("sleep 100"))
    cell.wait_for_reports("build_succeeded", 1)
    cell.compute.delete_instance(admin_context(), AGENT, built.uuid, host)
    cell.conductor.wait_for(
        lambda: built.uuid in [report[1] for report in cell.conductor.reported("instance_deleted")]
    )
    assert (victim / "console.log").read_text() == "secret"


def test_two_hosts_of_one_name_are_refused(new_cell: Callable[[], Cell]) -> None:
    """A command could not say which."""
    cell = new_cell()
    cell.conf.set_override("host", "sim-1")
    with pytest.raises(exception.ConfigurationError, match="sim-1"):
        cell.start(drivers=["process", "simulated"])


def test_a_reload_reports_all_hosts(cell: Cell) -> None:
    """With the options as they are now."""
    cell.conductor.wait_for(lambda: cell.conductor.nodes)
    manager = cell._agents[AGENT][0]
    cell.conf.set_override("reserved_host_cpus", 2)
    manager.reload()
    cell.conductor.wait_for(
        lambda: all(
            node.inventories["VCPU"]["reserved"] == 2 for node in cell.conductor.nodes.values()
        )
    )


def an_image_of(command: str) -> Any:
    return builders.an_image(properties={"process_command": command})


def test_a_late_repeat_brings_no_former_password_back(
    cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as one that was recorded, and is sent to another conductor of the cell."""
    passwords: list[str] = []
    monkeypatch.setattr(
        SimulatedDriver, "set_admin_password", lambda _self, _uuid, new: passwords.append(new)
    )
    cell.conductor.wait_for(lambda: cell.conductor.nodes)
    guest, first, second = builders.a_uuid(), admin_context(), admin_context()
    for context, password in ((first, "former"), (second, "new"), (first, "former")):
        cell.compute.set_admin_password(context, AGENT, guest, "sim-1", password=password)
    assert passwords == ["former", "new"]
