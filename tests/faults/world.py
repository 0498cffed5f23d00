"""The deployment that is made to suffer: its processes, the links between them, their clocks."""

import contextlib
import dataclasses
import os
import random
import re
import signal
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.faults.links import Network
from tests.faults.stores import Broker, Databases, stores
from tests.fixtures.asking import wait_for
from tests.fixtures.deployment import Cell, Deployment
from tests.fixtures.services.ports import free_port

TOP = "top"
CELLS = ("cell1", "cell2")
DATABASES = ("api", "cell0", "placement", *CELLS)
READY_SECONDS_MAX = 240
SERVICE_DOWN_SECONDS = 8
LEASE_SECONDS = 4
_OPTIONS = """
[DEFAULT]
report_interval = {report_seconds}
service_down_time = {down_seconds}
reclaim_instance_interval = 20
shelved_offload_time = {shelved_offload_time}
resize_confirm_window = {resize_confirm_window}
allow_resize_to_same_host = {allow_resize_to_same_host}
update_resources_interval = 10
[rpc]
response_timeout_seconds = {call_seconds}
long_timeout_seconds = {long_seconds}
[oslo_messaging_rabbit]
heartbeat_timeout_threshold = {heartbeat_seconds}
kombu_reconnect_delay = 0.5
[conductor]
workers = 1
lease_seconds = {lease_seconds}
recovery_interval_seconds = {recovery_seconds}
step_timeout_seconds = {step_seconds}
scheduling_deadline_seconds = 120
discover_hosts_interval_seconds = 5
[scheduler]
workers = {scheduler_workers}
[placement]
workers = 1
[api]
workers = 1
[cell]
host_push_interval_seconds = 0.5
timed_operations_interval_seconds = 4
self_heal_interval_seconds = 10
provider_retry_seconds = 2
provider_refresh_seconds = 20
[compute]
reconcile_interval_seconds = 8
guest_poll_interval_seconds = 2
shutdown_timeout_seconds = 2
[process]
limits = rlimit
stop_grace_seconds = 1
[simulated]
build_delay_seconds_min = 0.05
build_delay_seconds_max = 0.5
operation_delay_seconds_max = 0.3
live_migration_mib_per_second = 2048
failure_rate = {failure_rate}
failing_operations = {failing_operations}
"""
_FAILING = ("attach", "detach", "resize", "prepare_live", "live_migrate", "power_on", "power_off")
_URL = re.compile(
    r"((?:rabbit://guest:guest|postgresql\+psycopg2://postgres)@127\.0\.0\.1):\d+/(\w+)"
)


@dataclasses.dataclass(frozen=True)
class Size:
    """How much of everything there is."""

    copies: int
    """Of each service beside the API; of cell conductors in the first cell alone."""
    simulated: int
    """Agents of simulated hosts in each cell."""
    processes: int
    """Agents whose workloads are processes, all in the last cell."""
    cells: Sequence[str] = CELLS
    hosts: int = 3
    """Simulated hosts of an agent."""
    scheduler_workers: int = 1


LARGE = Size(copies=2, simulated=2, processes=2, hosts=2)
SMALL = Size(copies=1, simulated=2, processes=1, cells=CELLS[:1], hosts=2)


class FaultyDeployment(Deployment):
    """Processes each of which reaches its broker and databases over links of its own."""

    def __init__(
        self, folder: Path, size: Size, broker: Broker, databases: Databases, seed: int,
        pace: float,
    ) -> None:  # fmt: skip
        self.broker, self.databases, self.size = broker, databases, size
        self.network = Network(broker.port)
        self.agents: dict[str, list[str]] = {}
        """The hosts of each agent."""
        self.workloads = [f"{size.cells[-1]}-p{number + 1}" for number in range(size.processes)]
        """Agents whose workloads are processes; their only host is called like them."""
        super().__init__(
            folder,
            top_url=broker.url(TOP),
            databases={name: databases.url(name) for name in ("api", "cell0", "placement")},
            cells=[self._cell(name, size) for name in size.cells],
            options=_options(seed, size, pace),
        )
        self._environment = {
            **self._environment,
            "PYTHONPATH": os.pathsep.join(
                [str(Path(__file__).parent / "skewed"), os.environ.get("PYTHONPATH", "")]
            ).rstrip(os.pathsep),
        }

    def _cell(self, name: str, size: Size) -> Cell:
        amounts = "vcpus=16:memory_mb=32768:disk_gb=500"
        agents = {
            f"{name}-s{number}": [f"{name}-s{number}-{host}" for host in range(1, size.hosts + 1)]
            for number in range(1, size.simulated + 1)
        }
        self.agents |= agents
        return Cell(
            name=name,
            transport_url=self.broker.url(name),
            database_url=self.databases.url(name),
            agents={
                agent: [f"name={host}:{amounts}" for host in hosts]
                for agent, hosts in agents.items()
            },
        )

    # Making ---------------------------------------------------------------------------------------

    def prepare(self) -> None:
        super().prepare()
        for number in range(2, self.size.copies + 1):
            self._copy(f"super-{number}", "super")
            self._copy(f"placement-{number}", "placement")
            first = self.cells[0].name
            self._copy(f"{first}-conductor-{number}", f"{first}-conductor")
        if self.size.copies == 1:
            del self.processes["scheduler-2"]
        for agent in self.workloads:
            cell = self.cells[-1]
            self.agents[agent] = [agent]
            self._add(agent, "compute", "[compute]\ndriver = process\n",
                      transport_url=cell.transport_url)  # fmt: skip

    def _address(self, database_url: str) -> str:
        """Let commits wait as they do by default: the database server is killed, too."""
        return database_url

    def _add_cell(self, cell: Cell) -> list[tuple[str, ...]]:
        """Register the cell under the address of a link that the super conductors share."""
        url = self._linked("supers", cell.transport_url)
        return [
            tuple(url if word == cell.transport_url else word for word in command)
            for command in super()._add_cell(cell)
        ]

    def _copy(self, name: str, of: str) -> None:
        """Add one more process of a service, on the same stores and with links of its own."""
        text = (self.folder / f"{of}.conf").read_text()
        own = [
            line for line in text.splitlines() if not line.startswith(("host =", "state_path ="))
        ]
        state = self.folder / name
        header = f"[DEFAULT]\nhost = {name}\nstate_path = {state}\n"
        ports = re.sub(r"(rest_bind_port = )\d+", rf"\g<1>{free_port()}", "\n".join(own))
        binary = Path(self.processes[of].command[0]).name.removeprefix("armillary-")
        self._add(name, binary, "")
        (self.folder / f"{name}.conf").write_text(self._linked(name, header + ports))

    def _add(self, name: str, binary: str, options: str, *, transport_url: str = "") -> None:
        super()._add(name, binary, options, transport_url=transport_url)
        config = self.folder / f"{name}.conf"
        config.write_text(self._linked(name, config.read_text()))
        config.chmod(0o600)
        clock = self.folder / f"{name}.clock"
        clock.write_bytes(struct.pack("d", 0.0))
        process = self.processes[name]
        process.environment = {**process.environment, "ARMILLARY_FAULTS_CLOCK": str(clock)}

    def _linked(self, name: str, text: str) -> str:
        """Return a configuration in which each address is that of the process's own link."""

        def link(found: re.Match[str]) -> str:
            port = self.broker.port if found[1].startswith("rabbit") else self.databases.port
            kind = "broker" if port == self.broker.port else "database"
            made = self.network.link(name, f"{kind}-{found[2]}", port)
            return f"{found[1]}:{made.port}/{found[2]}"

        return _URL.sub(link, text)

    def state(self, name: str) -> Path:
        return self.folder / name

    def wait_until_ready(self) -> None:
        """Wait until the API answers and all hosts are up and discovered."""
        expected = sum(len(hosts) for hosts in self.agents.values())
        wait_for(self.answers, "the API answers", READY_SECONDS_MAX, 0.5)
        wait_for(lambda: self.up_hosts() >= expected, f"{expected} hosts are up",
                 READY_SECONDS_MAX, 0.5)  # fmt: skip

    # Suffering ------------------------------------------------------------------------------------

    def pause(self, name: str) -> None:
        self.processes[name].signal(signal.SIGSTOP)

    def resume(self, name: str) -> None:
        self.processes[name].signal(signal.SIGCONT)

    def skew(self, name: str, seconds: float) -> None:
        with (self.folder / f"{name}.clock").open("r+b") as clock:
            clock.write(struct.pack("d", seconds))

    def revive(self) -> list[str]:
        """Start every process that does not live; return their names."""
        dead = [name for name, process in self.processes.items() if not process.is_alive()]
        for name in dead:
            self.processes[name].start()
        return dead

    def stop(self) -> None:
        """End everything together, workloads as well."""
        for process in self.processes.values():
            process.kill()
        for name in self.workloads:
            _end_workloads(self.folder / name / "processes")
        self.network.close()


def _end_workloads(folder: Path) -> None:
    """Kill what a killed agent left running."""
    for path in folder.glob("*/processes.json"):
        for pid in re.findall(r'"pid": (\d+)', path.read_text()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


def _options(seed: int, size: Size, pace: float) -> str:
    """Return the options of a run: some of them, and what hosts fail at, differ by its seed.

    ``pace`` lengthens what is measured in seconds until a process counts as dead.
    """
    rng = random.Random(f"options/{seed}")
    failing = ",".join(
        f"{cell}-s1-{rng.randint(1, size.hosts)}:{rng.choice(_FAILING)}"
        for cell in size.cells
        if rng.random() < 0.5
    )
    return _OPTIONS.format(
        report_seconds=max(1, round(pace)),
        recovery_seconds=0.5 * pace,
        down_seconds=round(SERVICE_DOWN_SECONDS * pace),
        lease_seconds=LEASE_SECONDS * pace,
        call_seconds=round(10 * pace),
        long_seconds=round(15 * pace),
        step_seconds=6 * pace,
        heartbeat_seconds=round(12 * pace),
        shelved_offload_time=rng.choice((-1, -1, 0, 8)),
        resize_confirm_window=rng.choice((0, 0, 15)),
        allow_resize_to_same_host=rng.choice((False, True)),
        scheduler_workers=size.scheduler_workers,
        failure_rate=rng.choice((0.0, 0.05)),
        failing_operations=failing,
    )


@contextlib.contextmanager
def world(folder: Path, size: Size, seed: int, *, pace: float = 1.0) -> Iterator[FaultyDeployment]:
    """Lend a running deployment on a broker and a database server of its own.

    With a ``pace`` above 1 all that waits for others is that much more patient, for machines that
    have much else to do.
    """
    with stores((TOP, *size.cells), DATABASES) as (broker, databases):
        home = folder / "services"
        home.mkdir()
        deployment = FaultyDeployment(home, size, broker, databases, seed, pace)
        try:
            deployment.prepare()
            deployment.start(*deployment.processes)
            deployment.wait_until_ready()
            yield deployment
        finally:
            deployment.stop()
