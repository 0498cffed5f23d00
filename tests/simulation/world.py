"""One deployment: databases in memory, brokers, and processes that come and go."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from oslo_config import cfg
from oslo_messaging import conffixture
from sqlalchemy import Engine

import objects
from armillary.concurrency.periodic import PeriodicRunner
from armillary.conf import register_all
from armillary.context import RequestContext
from armillary.db import Database, engines, sqlite
from compute_agent import manager as agent_module
from compute_agent.journal.journal import Journal
from compute_agent.virt.simulated.simulated_driver import FILE_NAME, SimulatedDriver
from compute_agent.virt.simulated.simulated_guest import SimulatedGuest
from compute_agent.virt.simulated.simulated_hosts import parse_hosts
from compute_agent.virt.simulated.simulated_store import SimulatedStore
from conductor.cell_conductor.manager import CellConductorManager
from conductor.common.clock import moment
from conductor.super_conductor.db import cells
from conductor.super_conductor.db.catalogue import flavors, images
from conductor.super_conductor.interface import SuperConductorAPI
from conductor.super_conductor.manager import SuperConductorManager
from objects.images.image_record import ImageRecord
from placement.manager import PlacementManager
from scheduler.manager import SchedulerManager
from tests import builders
from tests.simulation import memory
from tests.simulation.bus import Broker, SimBus
from tests.simulation.hub import HUB, START, Process

TOP = "top"
CELLS = {
    "cell1": "c0ffee00-0000-4000-8000-000000000001",
    "cell2": "c0ffee00-0000-4000-8000-000000000002",
}
AGENTS = {
    "agent1": ("cell1", ("host1", "host2")),
    "agent2": ("cell1", ("host3", "host4")),
    "agent3": ("cell2", ("host5", "host6")),
    "agent4": ("cell2", ("host7",)),
}
SCHEMAS = {
    "api": "conductor.super_conductor.db.schema",
    "cell0": "conductor.common.cell_db.schema",
    "placement": "placement.db.schema",
    **dict.fromkeys(CELLS, "conductor.common.cell_db.schema"),
}
SERVICES = ("placement1", "super1", "super2", "scheduler1", *(
    f"{cell}-{side}" for cell in CELLS for side in "ab"
))  # fmt: skip
FLAVORS = {"small": 1, "medium": 2, "large": 4}
HOST = "name={}:vcpus=8:memory_mb=8192:disk_gb=100"
OPTIONS: dict[tuple[str | None, str], Any] = {
    # A day of a deployment in seconds: who waits long costs more than who works.
    (None, "report_interval"): 4,
    (None, "service_down_time"): 10,
    (None, "shelved_offload_time"): -1,
    ("conductor", "lease_seconds"): 6.0,
    ("conductor", "recovery_interval_seconds"): 3.0,
    ("conductor", "retry_pause_seconds"): 0.5,
    ("conductor", "step_timeout_seconds"): 7.0,
    ("conductor", "discover_hosts_interval_seconds"): 30.0,
    ("cell", "host_push_interval_seconds"): 2.0,
    ("cell", "service_watch_interval_seconds"): 4.0,
    ("cell", "self_heal_interval_seconds"): 30.0,
    ("compute", "guest_poll_interval_seconds"): 10.0,
    ("rpc", "response_timeout_seconds"): 7.0,
    ("simulated", "build_delay_seconds_max"): 2.0,
    ("simulated", "operation_delay_seconds_max"): 1.0,
    ("quota", "instances"): -1,
    ("quota", "cores"): -1,
    ("quota", "ram"): -1,
}


OF_ZONES = frozenset(
    {"continue-walks", "reconcile-unknown", "reconcile-sizes", "reconcile-deleted"}
)
"""Periodic tasks that look for servers in other zones: there are none here."""

_LIVING = "SELECT uuid, vm_state, task_state, flavor FROM instances WHERE deleted_at IS NULL"
_TO_BE_BUILT = "SELECT instance_uuid, 'building', 'scheduling', '{}' FROM build_requests"


@dataclass(frozen=True)
class Server:
    """What there is of a server. ``flavor`` is in its wire form."""

    uuid: str
    vm_state: str
    task_state: str | None
    flavor: str

    @property
    def is_at_rest(self) -> bool:
        return self.task_state is None


class SimDatabase(Database):
    """A database before and after whose every commit its process may die."""

    on_commit: Callable[[], None] = staticmethod(lambda: None)
    shared: ClassVar[dict[str, Engine]] = {}
    """Engines by file: what one process has compiled its followers need not compile again."""

    @property
    def engine(self) -> Engine:
        if self._engine is None:
            url = str(self.url)
            if url not in self.shared:
                self.shared[url] = engines.create_engine(self.url, self.options, self.name)
                # Readers begin nothing: no thread writes while one reads, and events cost time.
                self.shared[url]._has_events = False
            self._engine = self.shared[url]
            self._writers = self._engine.execution_options(**{sqlite.WRITE_OPTION: True})
            self._writers._has_events = True
        return self._engine

    @classmethod
    def close_shared(cls) -> None:
        for engine in cls.shared.values():
            engine.dispose()

    def check_version(self, schema_package: str) -> None:
        """Take it for granted: all are of this release."""

    def peek(self, statement: str) -> tuple[Any, ...]:
        """Return what was committed last, as from outside."""
        row = memory.kept(str(self.url.database)).execute(statement).fetchone()
        return tuple(row)

    @contextlib.contextmanager
    def _writer(self) -> Iterator[Any]:
        HUB.effect(f"writes to {self.name}")
        with super()._writer() as session:
            yield session
        self.on_commit()
        HUB.effect(f"wrote to {self.name}")


class _Clock:
    """Waits for the next turn of a periodic task, and for nothing else: processes end by dying."""

    def monotonic(self) -> float:
        return HUB.monotonic()

    def wait(self, event: threading.Event, timeout_seconds: float) -> bool:
        if timeout_seconds > 0:
            HUB.park(timeout_seconds)
        return event.is_set()


class SimJournal(Journal):
    """A journal after whose every change its agent may die.

    It is not locked for its agent: of each there is one process at a time, and forks inherit locks.
    """

    def _lock_file(self) -> None:
        self._owner_fd = None

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Any]:
        before = self._connection.total_changes if self._connection else 0
        with super().transaction() as cursor:
            yield cursor
        if self._connection is not None and self._connection.total_changes != before:
            HUB.effect("journals")


class SimStore(SimulatedStore):
    """Guests that are seen from outside, also while their agent is down."""

    world: World

    def open(self) -> None:
        super().open()
        for host, guests in self._guests.items():
            self.world.guests.setdefault(host, {}).update(guests)

    def change(self, host: str, uuid: str, make: Any) -> SimulatedGuest:
        HUB.effect(f"changes a guest on {host}")
        guest = super().change(host, uuid, make)
        self.world.guests.setdefault(host, {})[uuid] = guest
        self.world.on_guest(uuid)
        HUB.effect(f"changed a guest on {host}")
        return guest

    def remove(self, host: str, uuid: str) -> None:
        HUB.effect(f"removes a guest of {host}")
        super().remove(host, uuid)
        self.world.guests.get(host, {}).pop(uuid, None)
        HUB.effect(f"removed a guest of {host}")


class World:
    """Everything of one run. ``processes`` are those that live now, by name."""

    def __init__(self, folder: Path) -> None:
        self._options = dict(OPTIONS)
        self._confs: dict[str, cfg.ConfigOpts] = {}
        objects.register_all()
        setattr(agent_module, "Journal", SimJournal)  # noqa: B010 - the manager makes its own
        SimStore.world = self
        self.folder = folder
        self.brokers = {name: Broker(name) for name in (TOP, *CELLS)}
        self.processes: dict[str, Process] = {}
        self._back_at: dict[str, float] = {}
        self.guests: dict[str, dict[str, SimulatedGuest]] = {}
        self.on_guest: Callable[[str], None] = lambda uuid: None
        self.on_placement: Callable[[], None] = lambda: None
        for name, schema in SCHEMAS.items():
            self.database(name).sync(schema)
        self._register()
        self._makers: dict[str, Callable[[Process], Any]] = {
            "placement1": self._placement,
            "super1": self._super_conductor,
            "super2": self._super_conductor,
            "scheduler1": self._scheduler,
            **dict.fromkeys([name for name in SERVICES if "cell" in name], self._cell_conductor),
            **dict.fromkeys(AGENTS, self._agent),
        }
        self.user = Process("user")

    @property
    def names(self) -> list[str]:
        return list(self._makers)

    def start(self, name: str) -> None:
        known = self.processes.get(name)
        if known is not None and known.is_alive:
            return
        process = self.processes[name] = Process(name)
        self._back_at[name] = HUB.now
        HUB.watch(name, "starts")
        HUB.spawn(lambda: self._run(process), name="main", process=process)

    def cut(self, name: str, broker: Broker) -> None:
        HUB.watch(name, f"is cut off from {broker.name}")
        broker.cut.add(name)

    def mend(self, name: str, broker: Broker) -> None:
        HUB.watch(name, f"reaches {broker.name} again")
        broker.cut.discard(name)
        self._back_at[name] = HUB.now
        broker.look()

    def seconds_in_reach(self, host: str) -> float:
        """Return for how long a host's agent has been there; 0 when it is not."""
        agent, cell = next((a, c) for a, (c, hosts) in AGENTS.items() if host in hosts)
        if not self.brokers[cell].reaches(self.processes[agent]):
            return 0.0
        return HUB.now - self._back_at[agent]

    def kill(self, name: str) -> None:
        process = self.processes.get(name)
        if process is not None and process.is_alive:
            HUB.watch(name, "is killed")
            HUB.kill(process)

    def api(self) -> SuperConductorAPI:
        """Return what a user asks with."""
        return SuperConductorAPI(self.bus(TOP, self.user), timeout_seconds=7.0)

    def bus(self, broker: str, process: Process) -> SimBus:
        return SimBus(self.brokers[broker], process)

    def database(self, name: str) -> Database:
        """Return a database to look into, from outside of all processes."""
        return Database(f"sqlite:///{self.folder}/{name}.sqlite", name=name)

    def set_options(self, options: Mapping[tuple[str | None, str], Any]) -> None:
        """Give all processes other options, those that live and those that come."""
        self._options.update(options)
        for conf in self._confs.values():
            _override(conf, options)

    def servers(self) -> list[Server]:
        found = [Server(*row) for cell in (*CELLS, "cell0") for row in self.look(cell, _LIVING)]
        found += [Server(*row) for row in self.look("api", _TO_BE_BUILT)]
        return sorted({server.uuid: server for server in found}.values(), key=lambda s: s.uuid)

    def undecided(self, agent: str) -> list[str]:
        """Return the instances of which an agent will look again what it should do with them."""
        manager = getattr(self.processes[agent], "manager", None)
        return (
            [] if manager is None else sorted(uuid for _host, uuid in manager._reconciler.undecided)
        )

    def look(self, name: str, statement: str) -> list[Any]:
        """Look into a file from outside of all processes."""
        return memory.kept(self.folder / f"{name}.sqlite").execute(statement).fetchall()

    # Processes

    def _run(self, process: Process) -> None:
        opened: list[Callable[[], None]] = []
        process.opened = opened  # type: ignore[attr-defined]
        process.on_death = lambda: self._remove(process)
        manager = self._makers[process.name](process)
        process.manager = manager  # type: ignore[attr-defined]
        manager.start()
        for server in manager.servers():
            server.start()
        tasks = [task for task in manager.periodic_tasks() if task.name not in OF_ZONES]
        PeriodicRunner(tasks, _Clock(), random.Random()).start()

    def _remove(self, process: Process) -> None:
        for broker in self.brokers.values():
            broker.servers = [each for each in broker.servers if each.bus.process is not process]
        for close in process.opened:  # type: ignore[attr-defined]
            close()

    def _conf(self, process: Process, **more: Any) -> cfg.ConfigOpts:
        """Return the options of a process, the same for all that ever have its name."""
        if process.name in self._confs:
            return self._confs[process.name]
        conf = cfg.ConfigOpts()
        conffixture.ConfFixture(conf)
        register_all(conf)
        conf([], default_config_files=[], default_config_dirs=[])
        own: dict[tuple[str | None, str], Any] = {
            (None, "host"): process.name,
            (None, "state_path"): str(self.folder),
        }
        more_own = {tuple(key.split("__")): value for key, value in more.items()}
        _override(conf, {**own, **more_own, **self._options})
        self._confs[process.name] = conf
        return conf

    def _opened(self, process: Process, name: str) -> Database:
        database = SimDatabase(f"sqlite:///{self.folder}/{name}.sqlite", name=name)
        if name == "placement":
            database.on_commit = lambda: self.on_placement()
        process.opened.append(database.dispose)  # type: ignore[attr-defined]
        return database

    def _placement(self, process: Process) -> Any:
        return PlacementManager(
            self._conf(process),
            top_bus=self.bus(TOP, process),
            database=self._opened(process, "placement"),
        )

    def _super_conductor(self, process: Process) -> Any:
        return SuperConductorManager(
            self._conf(process),
            top_bus=self.bus(TOP, process),
            make_bus=lambda url, _scope: self.bus(url.rpartition("/")[2], process),
            api_database=self._opened(process, "api"),
            cell0_database=self._opened(process, "cell0"),
        )

    def _scheduler(self, process: Process) -> Any:
        return SchedulerManager(self._conf(process), top_bus=self.bus(TOP, process))

    def _cell_conductor(self, process: Process) -> Any:
        cell = process.name.partition("-")[0]
        return CellConductorManager(
            self._conf(process, cell__uuid=CELLS[cell]),
            top_bus=self.bus(TOP, process),
            cell_bus=self.bus(cell, process),
            database=self._opened(process, cell),
        )

    def _agent(self, process: Process) -> Any:
        cell, hosts = AGENTS[process.name]
        conf = self._conf(process)
        state = self.folder / process.name
        store = SimStore(state / FILE_NAME)
        drivers = [
            SimulatedDriver(conf, parse_hosts([HOST.format(host)])[0], store, "192.0.2.1")
            for host in hosts
        ]
        manager = agent_module.ComputeManager(
            conf, cell_bus=self.bus(cell, process), agent=process.name, drivers=drivers,
            journal_path=state / "journal.sqlite",
        )  # fmt: skip
        journal = manager._journal
        process.opened += [store.close, journal.close]  # type: ignore[attr-defined]
        return manager

    # What operators made before

    def _register(self) -> None:
        database = self.database("api")
        now = moment(START)
        with database.writer() as session:
            for name, uuid in CELLS.items():
                url = f"kombu+memory:////{name}"
                cells.create_cell(session, name=name, transport_url=url, chosen_uuid=uuid, now=now)
            for name, vcpus in FLAVORS.items():
                flavor = builders.a_flavor(name, vcpus=vcpus, memory_mb=512 * vcpus)
                flavors.create_flavor(session, flavor, now=now)
            for name in ("loop", "other"):
                images.create_record(session, ImageRecord(builders.an_image(name)), now=now)
        database.dispose()


def _override(conf: cfg.ConfigOpts, values: Mapping[Any, Any]) -> None:
    for (group, name), value in values.items():
        conf.set_override(name, value, group=group)


def a_user() -> RequestContext:
    return RequestContext(user_id="u1", project_id="p1", roles=["admin"], is_admin=True)
