"""Connections to child zones: for each a bus, an RPC client, and a listener for its summaries.

A broker that is unreachable only blocks the workers of its own link.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.concurrency import WorkerPool, WorkerPoolFull
from armillary.context import RequestContext, admin_context
from armillary.logs.outage_log import OutageLog
from conductor.super_conductor.zones.interface import ZoneAPI, ZoneSummariesAPI
from objects.zones.zone_answer import ZoneAnswer
from objects.zones.zone_query import ZoneQuery
from objects.zones.zone_summary import ZoneSummary
from rpc.server import RpcServer
from rpc.signing.place import zone_scope
from rpc.transport import Bus, MakeBus

LOG = logging.getLogger(__name__)

TakeSummary = Callable[[str, ZoneSummary], None]
"""Receives a child's name and its summary; raises ``Invalid`` for an invalid one."""

NoteTried = Callable[[str], None]
"""Receives the name of a child that was asked for its summary, with or without an answer."""

_WORKERS = 16
_QUEUE_SIZE_MAX = 1000
_RETRY_SECONDS = 5.0
_REFRESH_SECONDS = 10.0


class SummaryEndpoint:
    """RPC endpoint for the summaries that arrive on one link."""

    def __init__(self, name: str, take: TakeSummary) -> None:
        self._name = name
        self._take = take

    def update_summary(self, context: RequestContext, summary: ZoneSummary) -> None:
        """Store the summary that the child pushed; log and drop an invalid one."""
        try:
            self._take(self._name, summary)
        except exception.Invalid as error:
            LOG.warning("Dropped an invalid summary: %s", error)


class _Link:
    """The connection to one child's broker; a worker connects and retries in the background."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        name: str,
        url: str,
        make_bus: MakeBus,
        take: TakeSummary,
        note_tried: NoteTried,
    ) -> None:
        self.name = name
        self.url = url
        self._conf = conf
        self._make_bus = make_bus
        self._take = take
        self._note_tried = note_tried
        self._workers = WorkerPool(_WORKERS, f"zone-{name}", queue_size_max=_QUEUE_SIZE_MAX)
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._bus: Bus | None = None
        self._api: ZoneAPI | None = None
        self._server: RpcServer | None = None
        self._outage = OutageLog(LOG, f"The broker of zone {name}")

    def open(self) -> None:
        """Connect and listen in the background; retry until it succeeds."""
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
        """Ask the child to push its summary now, in the background."""
        try:
            self._workers.submit(self._refresh)
        except (WorkerPoolFull, RuntimeError):
            LOG.debug("Zone %s is not asked for a refresh: its request queue is full", self.name)

    def close(self) -> None:
        """Close the link; calls that still block end with the process."""
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
                self._note_tried(self.name)
                self._closed.wait(_RETRY_SECONDS)
            else:
                self._outage.succeeded()
                self._refresh()
                self._note_tried(self.name)
                return

    def _connect(self) -> None:
        bus = self._bus or self._make_bus(self.url, zone_scope(self.name))
        self._bus = bus
        self._api = ZoneAPI(bus)
        server = bus.server(
            ZoneSummariesAPI,
            f"{self._conf.zones.name}.{self._conf.host}",
            [SummaryEndpoint(self.name, self._take)],
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
            LOG.info("Could not ask zone %s for its summary: %s", self.name, error)


class RpcLinks:
    """The links of this process, opened and closed as children change. Thread-safe."""

    def __init__(
        self, conf: cfg.ConfigOpts, make_bus: MakeBus, take: TakeSummary, note_tried: NoteTried
    ) -> None:
        self._conf = conf
        self._make_bus = make_bus
        self._take = take
        self._note_tried = note_tried
        self._lock = threading.Lock()
        self._links: dict[str, _Link] = {}

    def set_known(self, zones: Iterable[Mapping[str, Any]]) -> None:
        """Open links to new children; close links to moved, removed or disabled ones."""
        wanted = {zone["name"]: zone["transport_url"] for zone in zones if not zone["disabled"]}
        with self._lock:
            former = self._links
            self._links = {
                name: link for name, link in former.items() if wanted.get(name) == link.url
            }
            closed = [link for name, link in former.items() if name not in self._links]
            opened = []
            for name in wanted.keys() - self._links.keys():
                link = _Link(
                    self._conf, name, wanted[name], self._make_bus, self._take, self._note_tried
                )
                self._links[name] = link
                opened.append(link)
        for link in opened:
            link.open()
        for link in closed:
            threading.Thread(target=link.close, name=f"zone-{link.name}-end", daemon=True).start()

    def ask(
        self, name: str, context: RequestContext, query: ZoneQuery, timeout_seconds: float
    ) -> Future[ZoneAnswer]:
        """Query a child without blocking. Raises ``ZoneUnavailable``, ``WorkerPoolFull``."""
        link = self._links.get(name)
        if link is None:
            raise exception.ZoneUnavailable(zone=name, reason="it is not connected yet")
        try:
            return link.ask(context, query, timeout_seconds)
        except RuntimeError as error:
            raise exception.ZoneUnavailable(zone=name, reason="its address just changed") from error

    def refresh(self) -> None:
        """Ask all children to push their summaries, without blocking."""
        for link in list(self._links.values()):
            link.refresh()

    def close(self) -> None:
        """Close all links."""
        self.set_known([])
