"""The way to each child zone: a bus to its broker, a client, and the summaries pushed there.

A broker that is out of reach holds up only the workers of its own link.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from oslo_config import cfg

import rpc
from armillary import exception
from armillary.concurrency import WorkerPool, WorkerPoolFull
from armillary.context import RequestContext, admin_context
from armillary.log_once import OutageLog
from conductor.zone_rpcapi import ZoneAPI, ZoneSummariesAPI
from objects.zone_answer import ZoneAnswer
from objects.zone_query import ZoneQuery
from objects.zone_summary import ZoneSummary
from rpc.server import RpcServer
from rpc.transport import Bus

LOG = logging.getLogger(__name__)

MakeBus = Callable[[str], Bus]
TakeSummary = Callable[[str, ZoneSummary], None]
"""Takes the name of the child that a summary came from; raises ``Invalid`` for one that is none."""

_WORKERS = 16
_QUEUE_SIZE_MAX = 1000
_RETRY_SECONDS = 5.0
_REFRESH_SECONDS = 10.0


class SummaryEndpoint:
    """Takes the summaries that come by one link."""

    def __init__(self, name: str, take: TakeSummary) -> None:
        self._name = name
        self._take = take

    @rpc.expose
    def update_summary(self, context: RequestContext, summary: ZoneSummary) -> None:
        """Take over what the child pushed; what makes no sense is logged and dropped."""
        try:
            self._take(self._name, summary)
        except exception.Invalid as error:
            LOG.warning("A summary is dropped: %s", error)


class _Link:
    """One child's broker, connected by a worker as soon as that can be."""

    def __init__(
        self, conf: cfg.ConfigOpts, name: str, url: str, make_bus: MakeBus, take: TakeSummary
    ) -> None:
        self.name = name
        self.url = url
        self._conf = conf
        self._make_bus = make_bus
        self._take = take
        self._workers = WorkerPool(_WORKERS, f"zone-{name}", queue_size_max=_QUEUE_SIZE_MAX)
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._bus: Bus | None = None
        self._api: ZoneAPI | None = None
        self._server: RpcServer | None = None
        self._outage = OutageLog(LOG, f"The broker of zone {name}")

    def open(self) -> None:
        """Connect and listen in the background, again until that has worked."""
        self._workers.submit(self._open)

    def ask(
        self, context: RequestContext, query: ZoneQuery, timeout_seconds: float
    ) -> Future[ZoneAnswer]:
        api = self._api
        if api is None:
            raise exception.ZoneUnavailable(zone=self.name, reason="it is not connected yet")
        return self._workers.submit(
            api.select_hosts, context, query, timeout_seconds=timeout_seconds
        )

    def refresh(self) -> None:
        """Ask the child to push its summary, in the background; it does anyway, in its time."""
        try:
            self._workers.submit(self._refresh)
        except (WorkerPoolFull, RuntimeError):
            LOG.debug("zone %s is not asked to refresh: too much waits for it", self.name)

    def close(self) -> None:
        """Drop the link; what hangs in it ends with the process."""
        self._closed.set()
        self._workers.shutdown(0)
        with self._lock:
            server, bus, self._server, self._bus = self._server, self._bus, None, None
        if server is not None:
            server.stop()
            server.wait()
        if bus is not None:
            bus.close()

    def _open(self) -> None:
        while not self._closed.is_set():
            try:
                self._connect()
            except Exception as error:
                self._outage.failed(error)
                self._closed.wait(_RETRY_SECONDS)
            else:
                self._outage.succeeded()
                self._refresh()
                return

    def _connect(self) -> None:
        bus = self._bus or self._make_bus(self.url)
        self._bus = bus
        self._api = ZoneAPI(bus)
        server = bus.server(
            ZoneSummariesAPI.TOPIC,
            f"{self._conf.zones.name}.{self._conf.host}",
            [SummaryEndpoint(self.name, self._take)],
            version=ZoneSummariesAPI.VERSION,
        )
        server.start()
        with self._lock:
            if self._closed.is_set():
                server.stop()
                bus.close()
            self._server = server

    def _refresh(self) -> None:
        if self._api is None:
            return
        try:
            self._api.refresh(admin_context(), timeout_seconds=_REFRESH_SECONDS)
        except exception.ArmillaryError as error:
            LOG.info("Zone %s was asked for its summary in vain: %s", self.name, error)


class RpcLinks:
    """The links of this process, which come and go with the children. Thread-safe."""

    def __init__(self, conf: cfg.ConfigOpts, make_bus: MakeBus, take: TakeSummary) -> None:
        self._conf = conf
        self._make_bus = make_bus
        self._take = take
        self._lock = threading.Lock()
        self._links: dict[str, _Link] = {}

    def set_known(self, zones: Iterable[Mapping[str, Any]]) -> None:
        """Open links to new children, close those to children that moved, went or are disabled."""
        wanted = {zone["name"]: zone["transport_url"] for zone in zones if not zone["disabled"]}
        with self._lock:
            former = self._links
            self._links = {
                name: link for name, link in former.items() if wanted.get(name) == link.url
            }
            closed = [link for name, link in former.items() if name not in self._links]
            opened = []
            for name in wanted.keys() - self._links.keys():
                link = _Link(self._conf, name, wanted[name], self._make_bus, self._take)
                self._links[name] = link
                opened.append(link)
        for link in opened:
            link.open()
        for link in closed:
            threading.Thread(target=link.close, name=f"zone-{link.name}-end", daemon=True).start()

    def ask(
        self, name: str, context: RequestContext, query: ZoneQuery, timeout_seconds: float
    ) -> Future[ZoneAnswer]:
        """Ask a child without waiting. Raises ``ZoneUnavailable``, ``WorkerPoolFull``."""
        link = self._links.get(name)
        if link is None:
            raise exception.ZoneUnavailable(zone=name, reason="it is not connected yet")
        try:
            return link.ask(context, query, timeout_seconds)
        except RuntimeError as error:
            raise exception.ZoneUnavailable(zone=name, reason="it has just moved") from error

    def refresh(self) -> None:
        """Ask all children to push their summaries, without waiting."""
        for link in list(self._links.values()):
            link.refresh()

    def close(self) -> None:
        """Drop all links."""
        self.set_known([])
