"""Make each service's manager from a configuration; the one place that knows all of them.

Services are imported where they are made: a program loads its own service only, which halves the
time and the memory that it takes to start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from oslo_config import cfg

from armillary import service_history
from armillary.http_server import HttpServer
from armillary.http_tls import tls_files
from armillary.notifications import make_notifier
from armillary.periodic import PeriodicTask
from armillary.service import Manager, Server

if TYPE_CHECKING:
    from api.event_hub import EventHub
    from armillary.cli.buses import MakeBus
    from rpc.transport import Bus
    from scheduler.rpcapi import SchedulerAPI


def make_super_conductor(conf: cfg.ConfigOpts, *, top_url: str, make_bus: MakeBus) -> Manager:
    """Return the owner of the API database and of cell0."""
    from armillary.db import Database
    from conductor.super_conductor import SuperConductorManager

    top_bus = make_bus(top_url)
    notifier = make_notifier(conf, "armillary-conductor", top_url)
    deciding = _make_own_scheduler(conf, top_bus, make_bus) if conf.scheduler.in_process else None
    manager = SuperConductorManager(
        conf,
        top_bus=top_bus,
        notifier=notifier,
        make_bus=make_bus,
        api_database=Database.from_conf(conf.api_database, "API"),
        cell0_database=Database.from_conf(conf.cell0_database, "cell0"),
        scheduler=None if deciding is None else deciding.face,
    )
    return manager if deciding is None else Together(manager, deciding.manager)


class _OwnScheduler(NamedTuple):
    """A scheduler within another process: what has to run, and what is called."""

    manager: Manager
    face: SchedulerAPI


def _make_own_scheduler(conf: cfg.ConfigOpts, top_bus: Bus, make_bus: MakeBus) -> _OwnScheduler:
    from scheduler.local import LocalScheduler
    from scheduler.manager import SchedulerManager

    made = SchedulerManager(conf, top_bus=top_bus, make_bus=make_bus)
    return _OwnScheduler(made, cast("SchedulerAPI", LocalScheduler(made)))


def make_cell_conductor(conf: cfg.ConfigOpts, *, top_url: str, make_bus: MakeBus) -> Manager:
    """Return the owner of one cell's database."""
    from armillary.db import Database
    from conductor.cell_conductor import CellConductorManager

    top_bus = make_bus(top_url)
    return CellConductorManager(
        conf,
        top_bus=top_bus,
        notifier=make_notifier(conf, "armillary-conductor", top_url),
        cell_bus=make_bus(conf.cell.transport_url),
        database=Database.from_conf(conf.cell_database, "cell"),
    )


def make_scheduler(conf: cfg.ConfigOpts, *, top_url: str, make_bus: MakeBus) -> Manager:
    """Return a scheduler, which owns nothing."""
    from armillary.cli.reporting import Reporting
    from rpc.version_caps import OldestServices
    from scheduler.manager import SchedulerManager

    top_bus = make_bus(top_url)  # first: it registers the options of messaging
    oldest = OldestServices()
    manager = SchedulerManager(
        conf,
        top_bus=top_bus,
        make_bus=make_bus,
        notifier=make_notifier(conf, service_history.SCHEDULER, top_url),
        oldest=oldest,
    )
    return Reporting(conf, manager, binary=service_history.SCHEDULER, bus=top_bus, oldest=oldest)


def make_placement(conf: cfg.ConfigOpts, *, top_url: str, make_bus: MakeBus) -> Manager:
    """Return placement with both its faces: RPC and REST."""
    from armillary.cli.reporting import Reporting
    from armillary.db import Database
    from placement.manager import PlacementManager
    from placement.rest.manager import make_server

    top_bus = make_bus(top_url)
    manager = PlacementManager(
        conf,
        top_bus=top_bus,
        database=Database.from_conf(conf.placement_database, "placement"),
    )
    is_shared = _several(conf, conf.placement.workers)
    with_rest = WithServers(manager, [make_server(conf, manager.engine, reuse_port=is_shared)])
    return Reporting(conf, with_rest, binary=service_history.PLACEMENT, bus=top_bus)


def make_placement_rest(conf: cfg.ConfigOpts, *, make_tables: bool) -> Manager:
    """Return placement with REST alone, which needs no broker."""
    from armillary.db import Database
    from placement.rest.manager import RestManager

    return RestManager(
        conf,
        database=Database.from_conf(conf.placement_database, "placement"),
        reuse_port=_several(conf, conf.placement.workers),
        make_tables=make_tables,
    )


def make_placement_wsgi(conf: cfg.ConfigOpts) -> Callable[..., Any]:
    """Return placement's REST API for a WSGI server of somebody else's.

    It forgets in a thread of its own. Raises ConfigurationError, also when the database is there
    and its tables are not those of this release.
    """
    from armillary.db import Database
    from placement.rest import manager

    database = Database.from_conf(conf.placement_database, "placement")
    return manager.make_standalone_app(conf, database)


def make_compute(conf: cfg.ConfigOpts, *, cell_url: str, make_bus: MakeBus) -> Manager:
    """Return the agent of this machine, or of the hosts that it simulates."""
    from compute_agent.manager import ComputeManager
    from compute_agent.virt.loader import make_drivers

    return ComputeManager(
        conf,
        cell_bus=make_bus(cell_url),
        agent=conf.host,
        notifier=make_notifier(conf, "armillary-compute", cell_url),
        drivers=make_drivers(conf),
        journal_path=Path(conf.compute.journal),
    )


def make_api(
    conf: cfg.ConfigOpts,
    *,
    top_url: str,
    make_bus: MakeBus,
    on_bound: Callable[[tuple[str, int]], None] | None = None,
) -> Manager:
    """Return the HTTP front door; ``on_bound`` learns where it listens."""
    from api.app import make_app
    from armillary.cli.reporting import Reporting
    from conductor.rpcapi import SuperConductorAPI
    from rpc.version_caps import ConfiguredCap, OldestServices

    bus = make_bus(top_url)  # first: it registers the options of messaging
    events = _event_hub(conf, top_url)
    oldest = OldestServices()
    conductor = SuperConductorAPI(
        bus,
        version_cap=ConfiguredCap.by_oldest(conf, "conductor", oldest),
        timeout_seconds=conf.rpc.response_timeout_seconds,
    )
    server = HttpServer(
        make_app(conf, conductor=conductor, events=events),
        host=conf.api.bind_host,
        port=conf.api.bind_port,
        threads=conf.api.threads,
        reuse_port=_several(conf, conf.api.workers),
        tls=tls_files(
            "api",
            cert_file=conf.api.cert_file,
            key_file=conf.api.key_file,
            ca_file=conf.api.ca_file,
        ),
    )
    before: list[Server] = [] if events is None else [events]
    if bus.post is not None:  # to be told of new trust lists, nothing else is asked of it
        before.append(bus.server("api", conf.host, [], version="1.0"))
    manager = HttpManager(server, on_bound, before=before)
    return Reporting(conf, manager, binary=service_history.API, bus=bus, oldest=oldest)


def _event_hub(conf: cfg.ConfigOpts, top_url: str) -> EventHub | None:
    """Return who follows the event feed, None where there is none."""
    from api.event_hub import EventHub
    from armillary.notifications.make import feed_url
    from rpc.event_feed import FeedReader

    url = feed_url(conf, top_url)
    if url is None or not conf.notifications.followers_max:
        return None
    return EventHub(
        FeedReader(conf, url),
        followers_max=conf.notifications.followers_max,
        queue_size_max=conf.notifications.follower_queue_size_max,
    )


def _several(conf: cfg.ConfigOpts, workers: int | None) -> bool:
    return (workers or conf.workers) > 1


class HttpManager:
    """A service that is nothing but an HTTP server, and what has to end before it does."""

    def __init__(
        self,
        server: HttpServer,
        on_bound: Callable[[tuple[str, int]], None] | None = None,
        before: Sequence[Server] = (),
    ) -> None:
        self._server = server
        self._on_bound = on_bound
        self._before = list(before)

    def start(self) -> None:
        """Have nothing to get ready: the front door holds no state."""

    def servers(self) -> Sequence[Server]:
        return [*self._before, _Announced(self._server, self._on_bound)]

    def periodic_tasks(self) -> Sequence[PeriodicTask]:
        return []

    def stop(self, grace_seconds: float) -> None:
        """Have no threads of its own to end."""

    def reload(self) -> None:
        """Have nothing to take over: options are read where they are used."""


class _Announced:
    """A server that tells its address once it listens."""

    def __init__(
        self, server: HttpServer, on_bound: Callable[[tuple[str, int]], None] | None
    ) -> None:
        self._server = server
        self._on_bound = on_bound

    def start(self) -> None:
        self._server.start()
        if self._on_bound is not None:
            self._on_bound(self._server.address)

    def stop(self) -> None:
        self._server.stop()

    def wait(self) -> None:
        self._server.wait()


class Together:
    """Two managers that are one service: the second one does its work within the first one's."""

    def __init__(self, first: Manager, second: Manager) -> None:
        self._both = (first, second)

    def start(self) -> None:
        for each in self._both:
            each.start()

    def servers(self) -> Sequence[Server]:
        return [server for each in self._both for server in each.servers()]

    def periodic_tasks(self) -> Sequence[PeriodicTask]:
        return [task for each in self._both for task in each.periodic_tasks()]

    def stop(self, grace_seconds: float) -> None:
        for each in self._both:
            each.stop(grace_seconds)

    def reload(self) -> None:
        for each in self._both:
            each.reload()


class WithServers:
    """A manager with further servers beside its own."""

    def __init__(self, manager: Any, servers: Sequence[Server]) -> None:
        self._manager = manager
        self._more = list(servers)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)

    def servers(self) -> Sequence[Server]:
        return [*self._manager.servers(), *self._more]
