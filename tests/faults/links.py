"""The network between the processes and their stores: each goes through a link that can be cut.

A link is a TCP port of its own for one process and one virtual host or database. All links of a run
are served by one process, which does nothing else: what waits for it, waits for the network.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import enum
import multiprocessing
import threading
from multiprocessing.connection import Connection
from typing import Any

from tests.faults.published import Published, Publishing
from tests.faults.repeater import Repeater

ANSWER_SECONDS_MAX = 60
BUFFERED_BYTES_MAX = 1 << 20


class State(enum.StrEnum):
    """What a link does with what comes."""

    OPEN = "open"
    SILENT = "silent"
    """Nothing arrives, and no end gets an error: a cable was pulled. Data sent arrives later."""
    REFUSING = "refusing"
    """Connections are closed, new ones as well: a firewall refuses them."""


@dataclasses.dataclass(frozen=True)
class Link:
    """The way of one process to one virtual host or database."""

    process: str
    target: str
    port: int

    @property
    def vhost(self) -> str | None:
        kind, _, name = self.target.partition("-")
        return name if kind == "broker" else None


class Network:
    """The links of a run, as the harness has them; they live in a process of their own."""

    def __init__(self, broker_port: int) -> None:
        self.links: dict[tuple[str, str], Link] = {}
        self._lock = threading.Lock()
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, broker_port), daemon=True)
        self._process.start()
        theirs.close()

    def link(self, process: str, target: str, to_port: int) -> Link:
        """Return the link of a process to a target, which is made when it is not there."""
        key = (process, target)
        if key not in self.links:
            self.links[key] = Link(process, target, self._do("listen", key, to_port))
        return self.links[key]

    def set_state(self, link: Link, state: State) -> None:
        """Cut a link, or mend it."""
        self._do("set_state", (link.process, link.target), state)

    def drop(self, link: Link) -> None:
        """Close the connections of a link, which may be made again immediately."""
        self._do("drop", (link.process, link.target))

    def set_delay(self, link: Link, seconds: float) -> None:
        self._do("set_delay", (link.process, link.target), seconds)

    def begin_repeating(self, link: Link, seed: int, share: float, seconds: float) -> None:
        """Publish a share of what is published on a link to a broker again, up to so much later."""
        self._do("begin_repeating", (link.process, link.target), link.vhost, seed, share, seconds)

    def end_repeating(self, link: Link) -> None:
        self._do("end_repeating", (link.process, link.target))

    @property
    def repeated(self) -> int:
        answer: int = self._do("count_repeated")
        return answer

    def close(self) -> None:
        with contextlib.suppress(OSError, EOFError):
            self._do("close")
        self._process.join(5)
        self._process.kill()

    def _do(self, name: str, *arguments: Any) -> Any:
        with self._lock:
            self._ours.send((name, arguments))
            if not self._ours.poll(ANSWER_SECONDS_MAX):
                raise TimeoutError(f"the network does not {name}")
            return self._ours.recv()


# In the process of the links ------------------------------------------------------------------


def _serve(theirs: Connection, broker_port: int) -> None:
    asyncio.run(_Links(broker_port).serve(theirs))


@dataclasses.dataclass
class _Way:
    """A link as it is served."""

    to_port: int
    state: State = State.OPEN
    delay_seconds: float = 0.0
    repeat: Any = None
    ends: set[_End] = dataclasses.field(default_factory=set)


class _Links:
    def __init__(self, broker_port: int) -> None:
        self._ways: dict[tuple[str, str], _Way] = {}
        self._repeater = Repeater(broker_port)
        self._ended = asyncio.Event()
        self._servers: list[asyncio.Server] = []

    async def serve(self, theirs: Connection) -> None:
        """Do what is asked over a pipe, until it closes."""
        self._repeater.start()
        loop = asyncio.get_running_loop()
        while not self._ended.is_set():
            try:
                name, arguments = await loop.run_in_executor(None, theirs.recv)
            except EOFError:
                break
            theirs.send(await getattr(self, name)(*arguments))
        self._repeater.stop()

    async def listen(self, key: tuple[str, str], to_port: int) -> int:
        way = self._ways[key] = _Way(to_port)
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Near(way), "127.0.0.1", 0)
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def set_state(self, key: tuple[str, str], state: State) -> None:
        way = self._ways[key]
        way.state = state
        for end in list(way.ends):
            end.on_state()

    async def drop(self, key: tuple[str, str]) -> None:
        for end in list(self._ways[key].ends):
            end.abort()

    async def set_delay(self, key: tuple[str, str], seconds: float) -> None:
        self._ways[key].delay_seconds = seconds

    async def begin_repeating(
        self, key: tuple[str, str], vhost: str, seed: int, share: float, seconds: float
    ) -> None:
        self._ways[key].repeat = self._repeater.taker(vhost, seed, share, seconds)
        await self.drop(key)  # to see its messages from a beginning

    async def end_repeating(self, key: tuple[str, str]) -> None:
        self._ways[key].repeat = None

    async def count_repeated(self) -> int:
        return self._repeater.repeated

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        for key in self._ways:
            await self.drop(key)
        self._ended.set()


class _End(asyncio.Protocol):
    """One end of a connection; what it hears goes to the ``other``, in the state of the way."""

    def __init__(self, way: _Way) -> None:
        self._way = way
        self._loop = asyncio.get_running_loop()
        self._waiting: list[bytes] = []
        """What may not go on yet, the oldest first."""
        self._free_at = 0.0
        self.other: _End | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._way.ends.add(self)

    def data_received(self, data: bytes) -> None:
        way = self._way
        if way.delay_seconds or self._free_at:
            due = max(self._free_at, self._loop.time() + way.delay_seconds)
            self._free_at = due
            self._loop.call_at(due, self._pass_on, data, due)
            return
        self._pass_on(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._way.ends.discard(self)
        if self.other is not None:
            self.other.end()

    def pause_writing(self) -> None:
        self._other_reads(is_reading=False)

    def resume_writing(self) -> None:
        self._other_reads(is_reading=True)

    def on_state(self) -> None:
        """Go by the new state of the way."""
        if self._way.state is State.REFUSING:
            self.abort()
        elif self._way.state is State.OPEN:
            waiting, self._waiting = self._waiting, []
            for data in waiting:
                self._pass_on(data)

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def end(self) -> None:
        """Close after what was passed on has gone."""
        if self.transport is not None:
            self.transport.close()

    def _pass_on(self, data: bytes, due: float | None = None) -> None:
        if due is not None and due == self._free_at:
            self._free_at = 0.0
        if self._way.state is State.SILENT or self.other is None or self.other.transport is None:
            self._waiting.append(data)
            return
        self.other.transport.write(data)

    def _other_reads(self, *, is_reading: bool) -> None:
        transport = None if self.other is None else self.other.transport
        if transport is not None and not transport.is_closing():
            (transport.resume_reading if is_reading else transport.pause_reading)()


class _Near(_End):
    """The end towards the process; it makes the other one, towards the store."""

    def __init__(self, way: _Way) -> None:
        super().__init__(way)
        self._publishing = None if way.repeat is None else Publishing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.on_state()

    def on_state(self) -> None:
        super().on_state()
        if self._way.state is State.OPEN and self.other is None:
            self.other = _Far(self._way, self)
            self._connecting = asyncio.ensure_future(self._connect(self.other))

    def data_received(self, data: bytes) -> None:
        if self._publishing is not None:
            self._repeat(self._publishing.feed(data))
        super().data_received(data)

    async def _connect(self, far: _Far) -> None:
        try:
            await self._loop.create_connection(lambda: far, "127.0.0.1", self._way.to_port)
        except OSError:  # the store is not there
            self.abort()

    def _repeat(self, messages: list[Published]) -> None:
        if self._way.repeat is None:
            self._publishing = None
            return
        for message in messages:
            self._way.repeat(message)


class _Far(_End):
    """The end towards the store."""

    def __init__(self, way: _Way, near: _Near) -> None:
        super().__init__(way)
        self.other = near

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert self.other is not None
        if self.other.transport is None or self.other.transport.is_closing():
            self.abort()  # it did not wait
            return
        self.other.on_state()
