"""The links between parents and children, through a proxy that counts bytes and can be cut."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

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
        """Return a new link."""
        return self._run(self._open())

    def cut(self, link: Link) -> None:
        """Let nothing through, in either direction, without closing anything."""
        self._run(self._set_open(link, is_open=False))

    def heal(self, link: Link) -> None:
        """Let through what comes, and what waited."""
        self._run(self._set_open(link, is_open=True))

    def close(self) -> None:
        """Stop serving."""
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
            for source, sink, direction in (
                (reader, back, "sent"),
                (there, writer, "received"),
            ):
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
