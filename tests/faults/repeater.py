"""Publishes messages a second time, each some time after it was seen, past all links."""

import contextlib
import heapq
import itertools
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from kombu.connection import Connection

from tests.faults.published import Published


class Repeater:
    """Messages that wait for their second time, and the thread that sends them."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._due: list[tuple[float, int, str, Published]] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._publish_all, name="repeater", daemon=True)
        self.repeated = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def taker(
        self, vhost: str, seed: int, share: float, seconds: float
    ) -> Callable[[Published], None]:
        """Return what takes messages, a share of which is sent again within so many seconds."""
        rng = random.Random(seed)

        def take(message: Published) -> None:
            if rng.random() < share:
                due = time.monotonic() + rng.uniform(0.0, seconds)
                item = (due, next(self._numbers), vhost, message.again(rng))
                with self._lock:
                    heapq.heappush(self._due, item)

        return take

    def _publish_all(self) -> None:
        while not self._ended.wait(0.05):
            for vhost, messages in self._take().items():
                self._publish(vhost, messages)

    def _take(self) -> dict[str, list[Published]]:
        """Return what is due, by virtual host."""
        found = defaultdict(list)
        with self._lock:
            while self._due and self._due[0][0] <= time.monotonic():
                _due, _number, vhost, message = heapq.heappop(self._due)
                found[vhost].append(message)
        return found

    def _publish(self, vhost: str, messages: list[Published]) -> None:
        away = contextlib.suppress(Exception)  # the broker, or the queue: the rest is lost then
        with away, Connection(port=self._port, virtual_host=vhost, connect_timeout=3) as connection:
            for message in messages:
                with connection.channel() as channel:
                    channel.basic_publish(
                        _as_message(channel, message), message.exchange, message.routing_key
                    )
                self.repeated += 1


def _as_message(channel: Any, message: Published) -> Any:
    return channel.prepare_message(
        message.body, content_type="application/json", content_encoding="utf-8",
        properties={"delivery_mode": 2},
    )  # fmt: skip
