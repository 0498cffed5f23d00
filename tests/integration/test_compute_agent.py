"""``armillary-compute`` on RabbitMQ with real workloads, killed and started again."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from armillary.context import admin_context
from compute_agent.interface import ComputeAPI
from conductor.cell_conductor.interface import CellConductorAPI
from objects.instance import Instance
from rpc.transport import Bus
from tests import builders
from tests.fixtures.agent import Conductor, a_build, agent_conf
from tests.fixtures.messages.interfaces import an_rpc_server
from tests.fixtures.programs.python_programs import Program, StartProgram, start_program
from tests.fixtures.services.brokers import Broker
from tests.fixtures.waiting import seconds

__all__ = ["start_program"]

pytestmark = [
    pytest.mark.rabbitmq,
    pytest.mark.sampled(every=2),
    pytest.mark.sampled_file(every=3),
]  # of the backends

HOST = "machine-1"
START_SECONDS_MAX = 60.0
CONFIGURATION = """
[DEFAULT]
transport_url = {url}
host = {host}
state_path = {state_path}
report_interval = 1
graceful_shutdown_timeout = 30
[compute]
driver = process
guest_poll_interval_seconds = 0.2
[process]
stop_grace_seconds = 1
"""
PROGRAM = """
import sys
from programs import compute
sys.exit(compute.main(sys.argv[1:]))
"""


class Machine:
    """An agent that a test starts, kills and orders about, and the conductor that it reports to."""

    def __init__(self, start: Callable[[], Program], bus: Bus, state_path: Path) -> None:
        self.conductor = Conductor()
        self.state_path = state_path
        self._start = start
        self._compute = ComputeAPI(bus)
        self._server = an_rpc_server(bus, CellConductorAPI, "conductor", self.conductor)
        self._server.start()

    def start(self) -> Program:
        self.conductor.nodes.clear()
        program = self._start()
        self.conductor.wait_for(lambda: HOST in self.conductor.nodes, START_SECONDS_MAX)
        return program

    def stop(self) -> None:
        self._server.stop()
        self._server.wait()

    def build(self, command: str) -> Instance:
        properties = {"process_command": command}
        instance, spec = a_build(HOST, image=builders.an_image(properties=properties))
        self.conductor.expect(instance)
        self._compute.build_instances(admin_context(), HOST, [instance], [spec])
        return instance

    def delete(self, instance: Instance) -> None:
        self._compute.delete_instance(admin_context(), HOST, instance.uuid, HOST)

    def wait_for_reports(self, kind: str, count: int) -> list[tuple[Any, ...]]:
        self.conductor.wait_for(lambda: len(self.conductor.reported(kind)) >= count)
        return self.conductor.reported(kind)

    def pid(self, instance: Instance) -> int:
        found = json.loads((self.directory(instance) / "processes.json").read_text())
        pid: int = found["workload"]["pid"]
        return pid

    def directory(self, instance: Instance) -> Path:
        return self.state_path / "processes" / instance.uuid


@pytest.fixture(params=["threading", "eventlet"])
def machine(
    request: pytest.FixtureRequest, tmp_path: Path, broker: Broker, start_program: StartProgram
) -> Iterator[Machine]:
    """Return a machine whose agent was not started yet, with each backend."""
    state_path = tmp_path / "state"
    path = tmp_path / "compute.conf"
    path.write_text(CONFIGURATION.format(url=broker.url, host=HOST, state_path=state_path))

    def start() -> Program:
        return start_program(
            PROGRAM, f"--config-file={path}", ARMILLARY_CONCURRENCY_BACKEND=request.param
        )

    locks = tmp_path / "locks"
    locks.mkdir()
    conductor_conf = agent_conf(tmp_path / "conductor")
    # The directory turns on the kinds of queues that our services declare.
    bus = Bus(conductor_conf, broker.url, process_name="conductor", lock_directory=locks)
    machine = Machine(start, bus, state_path)
    yield machine
    machine.stop()
    bus.close()


def kill_9(program: Program) -> None:
    """End the whole service: its parent and its worker."""
    parent = psutil.Process(program.process.pid)
    for process in [*parent.children(recursive=True), parent]:
        with suppress(psutil.NoSuchProcess):  # a helper process of a build may end by itself
            process.kill()
    program.wait_for_end()


def test_workloads_go_on_while_the_agent_is_dead(machine: Machine) -> None:
    """The next one finds them, and knows how those ended that did meanwhile."""
    program = machine.start()
    long = machine.build("sleep 300")
    short = machine.build("sh -c 'until [ -e may-end ]; do sleep 0.1; done; exit 7'")
    machine.wait_for_reports("build_succeeded", 2)
    kill_9(program)
    pid, ending = machine.pid(long), psutil.Process(machine.pid(short))
    (machine.directory(short) / "home" / "may-end").touch()
    ending.wait(seconds(START_SECONDS_MAX))
    machine.start()
    assert machine.wait_for_reports("instance_ended", 1) == [(HOST, short.uuid, 1, 7)]
    assert psutil.Process(pid).cmdline() == ["sleep", "300"]
    machine.delete(long)
    machine.delete(short)
    machine.wait_for_reports("instance_deleted", 2)
    assert not psutil.pid_exists(pid)
    assert [path for path in (machine.state_path / "processes").iterdir() if path.is_dir()] == []


def test_builds_in_progress_are_finished_by_the_next_agent(machine: Machine) -> None:
    """Each is reported, and each has one process, whenever the first agent died."""
    program = machine.start()
    instances = [machine.build("sleep 300") for _ in range(10)]
    machine.wait_for_reports("build_succeeded", 3)
    kill_9(program)
    machine.start()
    machine.conductor.wait_for(lambda: all(instance.vm_state == "active" for instance in instances))
    sleeping = [p for p in psutil.process_iter(["environ"]) if is_workload(p, instances)]
    assert len(sleeping) == len(instances)
    for instance in instances:
        machine.delete(instance)
    machine.wait_for_reports("instance_deleted", len(instances))


def is_workload(process: psutil.Process, instances: list[Instance]) -> bool:
    uuids = {instance.uuid for instance in instances}
    environment = process.info["environ"] or {}
    return environment.get("ARMILLARY_INSTANCE_UUID") in uuids
