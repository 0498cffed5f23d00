"""Construction of each service's manager from a configuration.

This is the one module that knows all services. They are imported where they are used: a program
loads only its own service, which halves its start-up time and memory.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from oslo_config import cfg

from armillary import exception, service_history
from armillary.concurrency.periodic import PeriodicTask
from armillary.http.trusted_hosts import guarded
from armillary.http.wsgi.server import HttpServer
from armillary.http.wsgi.tls import tls_files
from armillary.service import Manager, Server
from armillary.service.worker_count import worker_count
from rpc.notifications import make_notifier
from rpc.signing.place import TOP
from rpc.signing.setup import OFF

if TYPE_CHECKING:
    from api.events.event_hub import EventHub
    from rpc.transport import Bus, MakeBus
    from scheduler.interface import SchedulerAPI


def make_super_conductor(conf: cfg.ConfigOpts, *, top_url: str, make_bus: MakeBus) -> Manager:
    """Return the manager that owns the API database and cell0."""
    from armillary.db import Database
    from conductor.super_conductor.manager import SuperConductorManager

    top_bus = make_bus(top_url, TOP)
    notifier = make_notifier(conf, "armillary-conductor", top_url)
    deciding = (
        _make_in_process_scheduler(conf, top_bus, make_bus) if conf.scheduler.in_process else None
    )
    manager = SuperConductorManager(
        conf,
        top_bus=top_bus,
        notifier=notifier,
        make_bus=make_bus,
        api_database=Database.from_conf(conf.api_database, "API"),
        cell0_database=Database.from_conf(conf.cell0_database, "cell0"),
        scheduler=None if deciding is None else deciding.face,
    )
    return manager if deciding is None else CombinedManager(manager, deciding.manager)


class _InProcessScheduler(NamedTuple):
    """A scheduler within another process: the manager to run, and the API to call."""

    manager: Manager
    face: SchedulerAPI


def _make_in_process_scheduler(
    conf: cfg.ConfigOpts, top_bus: Bus, make_bus: MakeBus
) -> _InProcessScheduler:
    from rpc.endpoints import local
    from scheduler.interface import SchedulerAPI
    from scheduler.manager import SchedulerManager

    made = SchedulerManager(conf, top_bus=top_bus, make_bus=make_bus)
    return _InProcessScheduler(made, local(SchedulerAPI, made))


def make_cell_conductor(conf: cfg.ConfigOpts, *, top_url: str, make_bus: MakeBus) -> Manager:
    from armillary.db import Database
    from conductor.cell_conductor.manager import CellConductorManager

    top_bus = make_bus(top_url, TOP)
    return CellConductorManager(
        conf,
        top_bus=top_bus,
        notifier=make_notifier(conf, "armillary-conductor", top_url),
        cell_bus=make_bus(conf.cell.transport_url, conf.cell.uuid or TOP),
        database=Database.from_conf(conf.cell_database, "cell"),
    )


def make_scheduler(conf: cfg.ConfigOpts, *, top_url: str, make_bus: MakeBus) -> Manager:
    from programs.heartbeats import HeartbeatSender
    from rpc.version_caps import OldestServices
    from scheduler.manager import SchedulerManager

    top_bus = make_bus(top_url, TOP)  # first: it registers the messaging options
    oldest = OldestServices()
    manager = SchedulerManager(
        conf,
        top_bus=top_bus,
        make_bus=make_bus,
        notifier=make_notifier(conf, service_history.SCHEDULER, top_url),
        oldest=oldest,
    )
    return HeartbeatSender(
        conf, manager, binary=service_history.SCHEDULER, bus=top_bus, oldest=oldest
    )


def make_placement(
    conf: cfg.ConfigOpts,
    *,
    top_url: str,
    make_bus: MakeBus,
    on_bound: Callable[[tuple[str, int]], None] | None = None,
) -> Manager:
    """Return placement with RPC and REST; ``on_bound`` is called with the address of the latter."""
    from armillary.db import Database
    from placement.manager import PlacementManager
    from placement.rest.manager import make_server
    from programs.heartbeats import HeartbeatSender

    top_bus = make_bus(top_url, TOP)
    manager = PlacementManager(
        conf, top_bus=top_bus, database=Database.from_conf(conf.placement_database, "placement")
    )
    is_shared = _has_several_workers(conf, conf.placement.workers)
    server = make_server(conf, manager.engine, reuse_port=is_shared)
    with_rest = WithServers(manager, [_AnnouncingServer(server, on_bound)])
    return HeartbeatSender(conf, with_rest, binary=service_history.PLACEMENT, bus=top_bus)


def make_placement_rest(conf: cfg.ConfigOpts) -> Manager:
    """Return placement with REST only, which needs no broker."""
    from armillary.db import Database
    from placement.rest.manager import RestManager

    return RestManager(
        conf,
        database=Database.from_conf(conf.placement_database, "placement"),
        reuse_port=_has_several_workers(conf, conf.placement.workers),
    )


def make_placement_wsgi(conf: cfg.ConfigOpts) -> Callable[..., Any]:
    """Return placement's REST API for an external WSGI server.

    It prunes old records in a thread of its own. Raises ConfigurationError, also if the database
    has tables of another version.
    """
    from armillary.db import Database
    from placement.rest import manager

    database = Database.from_conf(conf.placement_database, "placement")
    return manager.make_standalone_app(conf, database)


def make_compute(conf: cfg.ConfigOpts, *, cell_url: str, make_bus: MakeBus) -> Manager:
    """Return the compute agent of this machine, or of simulated hosts."""
    from compute_agent.manager import ComputeManager
    from compute_agent.virt.loader import make_drivers

    return ComputeManager(
        conf,
        cell_bus=make_bus(cell_url, _cell_of_agent(conf)),
        agent=conf.host,
        notifier=make_notifier(conf, "armillary-compute", cell_url),
        drivers=make_drivers(conf),
        journal_path=Path(conf.compute.journal),
    )


def _cell_of_agent(conf: cfg.ConfigOpts) -> str:
    """Return the UUID of the agent's cell. Raises ConfigurationError if messages are to name it."""
    if conf.cell.uuid is None and conf.signing.mode != OFF:
        raise exception.ConfigurationError(
            reason="[cell] uuid is not set; with [signing] an agent needs the UUID of its cell, as "
            "shown by armillary-manage cell list, because every message names it"
        )
    return conf.cell.uuid or TOP


def make_api(
    conf: cfg.ConfigOpts,
    *,
    top_url: str,
    make_bus: MakeBus,
    on_bound: Callable[[tuple[str, int]], None] | None = None,
) -> Manager:
    """Return the HTTP API; ``on_bound`` is called with its address."""
    from api import errors
    from api.front import make_front
    from api.image.store import ImageStore
    from api.image_source import make_image_source
    from api.interface import ApiAPI
    from api.readiness import Readiness
    from conductor.super_conductor.interface import SuperConductorAPI
    from programs.heartbeats import HeartbeatSender
    from rpc.version_caps import ConfiguredCap, OldestServices

    if conf.glance.auth_type is None:
        with contextlib.suppress(OSError):  # an upload says what is wrong
            ImageStore(conf).prepare()
    bus = make_bus(top_url, TOP)  # first: it registers the messaging options
    bus.fail_fast(waiting_max=max(1, conf.api.threads // 2))
    events = _event_hub(conf, top_url)
    oldest = OldestServices()
    conductor = SuperConductorAPI(
        bus,
        version_cap=ConfiguredCap.by_oldest(conf, "conductor", oldest),
        timeout_seconds=conf.rpc.response_timeout_seconds,
    )
    server = HttpServer(
        guarded(
            make_front(
                conf,
                conductor=conductor,
                events=events,
                readiness=Readiness(conductor, lambda: bus.is_broker_away),
            ),
            conf,
            bind_host=conf.api.bind_host,
            refusal=errors.refusal,
            service="compute",
        ),
        host=conf.api.bind_host,
        port=conf.api.bind_port,
        threads=conf.api.threads,
        reuse_port=_has_several_workers(conf, conf.api.workers),
        tls=tls_files(
            "api",
            cert_file=conf.api.cert_file,
            key_file=conf.api.key_file,
            ca_file=conf.api.ca_file,
        ),
    )
    servers: list[Server] = [] if events is None else [events]
    if bus.message_signer is not None:  # only to receive new trust lists
        servers.append(bus.server(ApiAPI, conf.host, []))
    clean = PeriodicTask(
        name="delete unneeded images",
        interval_seconds=conf.image.clean_interval_seconds,
        jitter_seconds=conf.image.clean_interval_seconds / 10,
        fn=make_image_source(conf, conductor).delete_unneeded,
        is_waited_for=False,
    )
    manager = HttpManager([*servers, _AnnouncingServer(server, on_bound)], [clean])
    return HeartbeatSender(conf, manager, binary=service_history.API, bus=bus, oldest=oldest)


def _event_hub(conf: cfg.ConfigOpts, top_url: str) -> EventHub | None:
    """Return the hub that follows the event feed, None if there is no feed."""
    from api.events.event_hub import EventHub
    from rpc.notifications.event_feed import FeedReader
    from rpc.notifications.factory import feed_url

    url = feed_url(conf, top_url)
    if url is None or not conf.notifications.followers_max:
        return None
    return EventHub(
        FeedReader(conf, url),
        followers_max=conf.notifications.followers_max,
        queue_size_max=conf.notifications.follower_queue_size_max,
    )


def _has_several_workers(conf: cfg.ConfigOpts, workers: int | None) -> bool:
    return worker_count(conf, workers) > 1


class HttpManager:
    """A service of servers and periodic tasks; servers listed first end first."""

    def __init__(self, servers: Sequence[Server], tasks: Sequence[PeriodicTask]) -> None:
        self._servers = servers
        self._tasks = tasks

    def start(self) -> None:
        """Nothing to prepare: the API is stateless."""

    def servers(self) -> Sequence[Server]:
        return self._servers

    def periodic_tasks(self) -> Sequence[PeriodicTask]:
        return self._tasks

    def stop(self, grace_seconds: float) -> None:
        """Nothing to stop: it has no threads of its own."""

    def reload(self) -> None:
        """Nothing to reload: options are read where they are used."""


class _AnnouncingServer:
    """A server that reports its address once it listens."""

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


class CombinedManager:
    """Two managers that form one service; the second runs within the first."""

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
    """A manager with additional servers."""

    def __init__(self, manager: Any, servers: Sequence[Server]) -> None:
        self._manager = manager
        self._more = list(servers)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)

    def servers(self) -> Sequence[Server]:
        return [*self._manager.servers(), *self._more]
