"""A tree of zones as real services in a few processes, for ``tests.bench.zones``.

The links between parents and children lead through a proxy that counts bytes and can be cut.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import subprocess
import sys
import threading
import uuid
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import requests
from sqlalchemy.engine import make_url

from armillary.db import Database
from conductor.super_conductor.db.zones import zone_records
from tests.faults.stores import Broker
from tests.fixtures.asking import Api, wait_for

_CHUNK = 65536


@dataclass(eq=False)
class Link:
    """A port of ours that leads to the broker; while it is not open nothing comes through."""

    port: int
    sent: int = 0
    received: int = 0
    is_open: asyncio.Event = field(default_factory=asyncio.Event)


class Links:
    """All links, served by a thread of their own."""

    def __init__(self, broker_host: str, broker_port: int) -> None:
        self._broker = (broker_host, broker_port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self) -> Link:
        return self._run(self._open())

    def cut(self, link: Link) -> None:
        """Let nothing through, in either direction, without closing anything."""
        self._run(self._set_open(link, is_open=False))

    def heal(self, link: Link) -> None:
        """Let through what comes, and what waited."""
        self._run(self._set_open(link, is_open=True))

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _set_open(self, link: Link, *, is_open: bool) -> None:
        if is_open:
            link.is_open.set()
        else:
            link.is_open.clear()

    async def _open(self) -> Link:
        link = Link(0)
        link.is_open.set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            there, back = await asyncio.open_connection(*self._broker)
            for source, sink, direction in ((reader, back, "sent"), (there, writer, "received")):
                task = asyncio.ensure_future(_pump(link, source, sink, direction))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        link.port = server.sockets[0].getsockname()[1]
        return link


async def _pump(
    link: Link, source: asyncio.StreamReader, sink: asyncio.StreamWriter, direction: str
) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await source.read(_CHUNK):
            await link.is_open.wait()
            setattr(link, direction, getattr(link, direction) + len(data))
            sink.write(data)
            await sink.drain()
    sink.close()


START_SECONDS_MAX = 600.0
SELECT_TIMEOUT_SECONDS = 5.0
PUSH_SECONDS = 2.0
ROOT = "z"
LARGE = "z1.1"
"""The zone whose hosts have twice the memory of all others."""
MEMORY_MB = 262_144


@dataclass
class Zone:
    """One zone; ``link`` leads its parent to it."""

    name: str
    folder: Path
    top_url: str
    cell_url: str
    hosts: int
    parent: Zone | None
    pace: float = 1.0
    link: Link | None = None
    children: list[Zone] = field(default_factory=list)
    process: ZoneProcess | None = None

    def described(self, **more: Any) -> dict[str, Any]:
        """Return the zone as ``zones_process`` reads it."""
        return {
            "name": self.name,
            "host": self.name.replace(".", "-"),
            "folder": str(self.folder),
            "top_url": self.top_url,
            "cell_url": self.cell_url,
            "hosts": self.hosts,
            "memory_mb": MEMORY_MB * (2 if self.name == LARGE else 1),
            "cell_uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, self.name)),
            "is_parent": bool(self.children),
            "scheduler": self.parent is None,
            "has_api": self.parent is None,
            "select_timeout_seconds": SELECT_TIMEOUT_SECONDS,
            "push_seconds": self.pace * PUSH_SECONDS,
            "pace": self.pace,
            **more,
        }

    @property
    def database(self) -> Database:
        return Database(f"sqlite:///{self.folder}/api.sqlite", name="API")


class ZoneProcess:
    """A process with the services of some zones."""

    def __init__(self, zones: Sequence[dict[str, Any]], log: Path) -> None:
        self._log = log.open("w")
        self.zones = zones
        self.api_url: str | None = None
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.bench.zones_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self._ready = threading.Event()
        self._done = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()
        self._tell({"zones": list(zones)})

    def wait(self) -> None:
        """Return once all its zones serve."""
        wait_for(
            lambda: self._ready.is_set() or self._process.poll() is not None,
            "the zones of a process serve",
            START_SECONDS_MAX,
        )
        assert self._ready.is_set(), Path(self._log.name).read_text()[-3000:]

    def stop_agent(self, zone: str) -> None:
        """Let a zone's hosts fall silent."""
        self._done.clear()
        self._tell({"stop_agent": zone})
        assert self._done.wait(60)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _tell(self, what: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(what)}\n")
        self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            self.api_url = said.get("api", self.api_url)
            if "ready" in said:
                self._ready.set()
            if "done" in said:
                self._done.set()


class Tree:
    """All of it; parents know no child until ``join``."""

    def __init__(
        self, folder: Path, widths: tuple[int, int], hosts: int, processes: int,
        pace: float, lent: contextlib.ExitStack,
    ) -> None:  # fmt: skip
        names = _names(widths)
        vhosts = [*names, *map(_cell_of, names)]
        self._broker = _broker(folder / "broker", vhosts, lent)
        self.links = Links("127.0.0.1", self._broker.port)
        lent.callback(self.links.close)
        self._folder = folder
        self._lent = lent
        self._hosts = hosts
        self.push_seconds = pace * PUSH_SECONDS
        self._pace = pace
        made: dict[str, Zone] = {}
        for name, parent in names.items():
            made[name] = self._zone(name, made.get(parent or ""))
        self.zones = list(made.values())
        self.root = self.zones[0]
        self._start(processes)
        assert self.root.process is not None
        self.api = Api(str(self.root.process.api_url), requests.Session())

    def join(self, zone: Zone) -> None:
        """Tell a parent of its child, by the link between them."""
        assert zone.parent is not None
        zone.link = zone.link or self.links.open()
        url = make_url(zone.top_url).set(host="127.0.0.1", port=zone.link.port)
        with zone.parent.database.writer() as session:
            zone_records.create_zone(
                session,
                name=zone.name,
                transport_url=url.render_as_string(hide_password=False),
                now=datetime.now(UTC),
            )

    def known(self) -> dict[str, dict[str, Any]]:
        """Return the root's children as it sees them."""
        listed = self.api.get("/armillary/zones")
        return {zone["name"]: zone for zone in listed["zones"]}

    def own(self) -> dict[str, Any]:
        """Return what the root tells of itself and all below."""
        own: dict[str, Any] = self.api.get("/armillary/zones")["own"]
        return own

    def bytes_of_links(self) -> int:
        """Return how many bytes went over all links so far, in both directions."""
        links = [zone.link for zone in self.zones if zone.link]
        return sum(link.sent + link.received for link in links)

    def _zone(self, name: str, parent: Zone | None) -> Zone:
        zone = Zone(
            name,
            self._folder / name,
            self._broker.url(name),
            self._broker.url(_cell_of(name)),
            self._hosts,
            parent,
            self._pace,
        )
        if parent is not None:
            parent.children.append(zone)
        return zone

    def _start(self, processes: int) -> None:
        """Share the zones out: the root, its second scheduler and the last leaf have their own."""
        last = self.zones[-1]
        shared = [zone for zone in self.zones if zone not in (self.root, last)]
        parts = [[self.root], [last], *(shared[index::processes] for index in range(processes))]
        running = []
        for number, part in enumerate(filter(None, parts)):
            process = ZoneProcess(
                [zone.described() for zone in part], self._folder / f"process-{number}.log"
            )
            self._lent.callback(process.kill)
            for zone in part:
                zone.process = process
            running.append(process)
        for process in running:
            process.wait()
        self.second = ZoneProcess(
            [self.root.described(host="z-second", is_second=True, hosts=0)],
            self._folder / "second.log",
        )
        self._lent.callback(self.second.kill)
        self.second.wait()


def _cell_of(zone: str) -> str:
    return f"{zone}-cell"


def _names(widths: tuple[int, int]) -> dict[str, str | None]:
    """Return name -> parent of all zones, parents first."""
    names: dict[str, str | None] = {ROOT: None}
    for region in range(1, widths[0] + 1):
        names[f"{ROOT}{region}"] = ROOT
        names |= {f"{ROOT}{region}.{leaf}": f"{ROOT}{region}" for leaf in range(1, widths[1] + 1)}
    return names


def _broker(folder: Path, names: Iterable[str], lent: contextlib.ExitStack) -> Broker:
    """Run a broker of the bench's own: fifty zones take more files than a usual one may open."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    broker = Broker(folder, list(names))
    lent.callback(broker.kill)
    broker.start()
    broker.wait()
    return broker


@contextlib.contextmanager
def running_tree(
    folder: Path, *, widths: tuple[int, int], hosts: int, processes: int, pace: float
) -> Iterator[Tree]:
    """Run a tree; each zone has so many hosts, at intervals ``pace`` times as long."""
    with contextlib.ExitStack() as lent:
        yield Tree(folder, widths, hosts, processes, pace, lent)
