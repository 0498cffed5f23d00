"""Admission: an agent acts only while its cell accepts it as the one agent of its name.

A clone of a machine, or an agent started twice, has the name, the key and perhaps a copy of the
state directory of another one. The cell conductor admits one run at a time, at its heartbeat.
"""

import logging
import threading
from collections.abc import Callable

from rpc.server import RpcServer

LOG = logging.getLogger(__name__)


class Admission:
    """Whether the cell has admitted this run. ``on_change`` is called with the new state."""

    def __init__(self, agent: str, on_change: Callable[[bool], None]) -> None:
        self._agent = agent
        self._on_change = on_change
        self._lock = threading.Lock()
        self._is_admitted = False
        self._said = ""

    def is_admitted(self) -> bool:
        return self._is_admitted

    def admitted(self) -> None:
        """Note a heartbeat that was accepted."""
        with self._lock:
            if self._said:
                LOG.warning("Agent %s is admitted now", self._agent)
            self._said = ""
            self._change(is_admitted=True)

    def refused(self, reason: str) -> None:
        """Note a heartbeat that was refused; log each reason once."""
        with self._lock:
            if reason != self._said:
                LOG.error(
                    "%s Until it is admitted it changes nothing in the cell; asking again", reason
                )
            self._said = reason
            self._change(is_admitted=False)

    def _change(self, *, is_admitted: bool) -> None:
        if is_admitted != self._is_admitted:
            self._is_admitted = is_admitted
            self._on_change(is_admitted)


class AdmittedServer:
    """The agent's RPC server: takes commands only while the agent is admitted.

    Two agents of one name share a queue; each would get a part of the commands.
    """

    def __init__(self, make: Callable[[], RpcServer]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._server: RpcServer | None = None
        self._is_started = self._is_open = False

    def start(self) -> None:
        with self._lock:
            self._is_started = True
            self._adjust()

    def stop(self) -> None:
        with self._lock:
            self._is_started = False
            if self._server is not None:
                self._server.stop()

    def wait(self) -> None:
        with self._lock:
            if self._server is not None:
                self._server.wait()
                self._server = None

    def open(self, *, is_open: bool) -> None:
        """Begin to take commands, or cease to."""
        with self._lock:
            self._is_open = is_open
            self._adjust()

    def _adjust(self) -> None:
        if self._is_started and self._is_open and self._server is None:
            server = self._make()
            server.start()
            self._server = server
        elif not self._is_open and self._server is not None:
            self._server.stop()
            self._server.wait()
            self._server = None
