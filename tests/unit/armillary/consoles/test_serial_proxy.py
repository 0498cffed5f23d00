"""Places of the proxy of consoles, which users keep who do not read, or whose guest does not."""

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from armillary.consoles import serial_proxy
from compute_agent.consoles.console_port import ConsolePort
from tests.fixtures.agent.serial_consoles import Terminal, running_port, running_proxy, url_of
from tests.fixtures.asking import wait_for
from tests.fixtures.waiting import seconds

SECONDS_MAX = 60
LOUD, DEAF, QUIET = "loud", "deaf", "quiet"


class LoudGuest(Terminal):
    """A guest that writes without end."""

    def read(self) -> bytes:
        return b"x" * 16384


class DeafGuest(Terminal):
    """A guest that reads nothing, until its console is closed."""

    def __init__(self) -> None:
        super().__init__()
        self._is_closed = threading.Event()

    def write(self, data: bytes) -> None:
        self._is_closed.wait()

    def close(self) -> None:
        self._is_closed.set()
        super().close()


@pytest.fixture
def port() -> Iterator[ConsolePort]:
    guests = {LOUD: LoudGuest, DEAF: DeafGuest, QUIET: Terminal}
    with running_port(lambda _host, uuid: guests[uuid]()) as running:
        yield running


def opened(url: str) -> ClientConnection:
    return connect(url, open_timeout=seconds(SECONDS_MAX), close_timeout=0.1, max_queue=1)


def has_a_place(url: str) -> bool:
    """Return whether a user gets into a console that works."""
    with contextlib.suppress(ConnectionClosed), opened(url) as user:
        user.send("root\r")
        return user.recv(seconds(SECONDS_MAX)) == b"ROOT\r"
    return False


@pytest.mark.parametrize("guest", [LOUD, DEAF])
def test_who_reads_nothing_or_has_left_keeps_no_place(
    guest: str, port: ConsolePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else two such users would keep all others from this proxy, whose places are two."""
    monkeypatch.setattr(serial_proxy, "TAKE_SECONDS_MAX", 1.0)
    with running_proxy() as links, contextlib.ExitStack() as stack:
        for _ in range(2):
            user = stack.enter_context(opened(url_of(links, guest, port.grant("host", guest))))
            if guest == DEAF:
                user.socket.settimeout(1.0)
                with contextlib.suppress(ConnectionClosed, TimeoutError):
                    while True:  # until the buffers between are full
                        user.send(b"x" * serial_proxy.MESSAGE_BYTES_MAX)
                with contextlib.suppress(OSError):
                    user.socket.shutdown(socket.SHUT_RDWR)

        def entered() -> bool:
            return has_a_place(url_of(links, QUIET, port.grant("host", QUIET)))

        wait_for(entered, "another user gets in", SECONDS_MAX)


def test_silent_connections_of_one_address_keep_no_other_out(port: ConsolePort) -> None:
    """As many as it may open, again and again; those beyond are closed."""
    with running_proxy() as links, contextlib.ExitStack() as stack:
        url = url_of(links, QUIET, port.grant("host", QUIET))
        address = ("127.0.0.1", int(url.split(":")[2].split("/")[0]))
        silent = [
            stack.enter_context(
                socket.create_connection(address, SECONDS_MAX, source_address=("127.0.0.2", 0))
            )
            for _ in range(8)
        ]
        assert silent[-1].recv(1) == b""
        assert has_a_place(url)


def test_a_console_that_is_quiet_for_long_stays_open(
    port: ConsolePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The timeout is for who does not take what there is."""
    monkeypatch.setattr(serial_proxy, "TAKE_SECONDS_MAX", 0.05)
    console = port.grant("host", QUIET)
    with running_proxy() as links, opened(url_of(links, QUIET, console)) as user:
        with pytest.raises(TimeoutError):
            user.recv(timeout=0.5)
        user.send("later\r")
        assert user.recv(seconds(SECONDS_MAX)) == b"LATER\r"
