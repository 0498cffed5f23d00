"""Sending of what clients have not read yet of their answers, within limits of time and memory."""

import contextlib
import selectors
import socket
import threading
import time
from collections import Counter
from typing import Any

from armillary.http.client_network import client_network
from armillary.http.wsgi.connections import Limits, PatientConnection

_WAKE_BYTES = 65536


def beyond_room(waiting: list[PatientConnection], bytes_max: int) -> set[PatientConnection]:
    """Return the connections to close so that what is left to send takes no more memory than that.

    They are those with the most of the client with the most: who reads much slowly ends nothing of
    another's.
    """
    unsent = {each: len(each.outgoing.unsent) for each in waiting}
    of_client: Counter[str] = Counter()
    for each, count in unsent.items():
        of_client[client_network(each.remote_addr)] += count
    closed: set[PatientConnection] = set()
    while of_client.total() > bytes_max:
        client, _ = of_client.most_common(1)[0]
        victim = max(
            (each for each in unsent if client_network(each.remote_addr) == client),
            key=unsent.__getitem__,
        )
        of_client[client] -= unsent.pop(victim)
        closed.add(victim)
    return closed


class Sender:
    """Sends what clients have not read yet of their answers, in one thread for all of them."""

    def __init__(self, server: Any, limits: Limits) -> None:
        self._server = server
        self._limits = limits
        self._lock = threading.Lock()
        self._given: list[tuple[PatientConnection, bool]] = []
        self._woken, self._waker = socket.socketpair()
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="http-sender", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def take(self, connection: PatientConnection, *, stays: bool) -> None:
        """Send the rest for a connection; then hand it back to the server, or close it."""
        with self._lock:
            self._given.append((connection, stays))
        self._wake()

    def stop(self) -> None:
        """Return when all was sent, or its time has expired."""
        self._is_stopping = True
        self._wake()
        if self._thread.ident is not None:
            self._thread.join()
        self._woken.close()
        self._waker.close()

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            self._waker.send(b"1")

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._woken, selectors.EVENT_READ)
            waiting: dict[PatientConnection, tuple[bool, float]] = {}
            while waiting or not self._is_stopping:
                self._add_given(selector, waiting)
                for key, _ in selector.select(timeout=1.0 if waiting else None):
                    if key.data is None:
                        self._woken.recv(_WAKE_BYTES)
                    else:
                        self._send_some(key.data)
                self._add_given(selector, waiting)
                self._end_those_done(selector, waiting)

    def _add_given(self, selector: Any, waiting: dict[PatientConnection, Any]) -> None:
        with self._lock:
            given, self._given = self._given, []
        for connection, stays in given:
            waiting[connection] = (stays, time.monotonic() + connection.outgoing.send_seconds_max)
            selector.register(connection.socket, selectors.EVENT_WRITE, connection)

    @staticmethod
    def _send_some(connection: PatientConnection) -> None:
        with contextlib.suppress(OSError):  # a broken one has nothing to send any more
            connection.outgoing.send_some()

    def _end_those_done(
        self, selector: Any, waiting: dict[PatientConnection, tuple[bool, float]]
    ) -> None:
        now = time.monotonic()
        too_much = beyond_room(list(waiting), self._limits.unsent_bytes_max)
        for connection, (stays, until) in list(waiting.items()):
            if connection not in too_much and connection.outgoing.unsent and now < until:
                continue
            del waiting[connection]
            selector.unregister(connection.socket)
            is_sent = not connection.outgoing.unsent
            connection.outgoing.unsent.clear()
            if stays and is_sent:
                self._server.put_conn(connection)
            else:
                connection.close()
