"""The user's terminal as that of a server, over the WebSocket of ``armillary-serialproxy``."""

import contextlib
import os
import sys
import termios
import threading
import tty
from collections.abc import Iterator

from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from armillary import exception
from armillary.table_columns import printable

ESCAPE = b"\x1d"
"""Ctrl-], which ends the connection, as in telnet and virsh."""
PIECE_BYTES = 4096
MESSAGE_BYTES_MAX = 1024**2
_BINARY = Subprotocol("binary")


class ConsoleRefused(exception.ArmillaryError):
    """The proxy, or the server's host, refused the connection or ended it."""

    template = "The console was closed: %(reason)s"


def attach(url: str) -> None:
    """Connect standard input and output to a console until one side ends.

    Raises ConsoleRefused.
    """
    try:
        with (
            connect(url, subprotocols=[_BINARY], max_size=MESSAGE_BYTES_MAX) as console,
            _raw(sys.stdin.fileno()),
        ):
            threading.Thread(target=_send_input, args=(console,), daemon=True).start()
            _show_output(console)
    except InvalidStatus as error:
        said = (error.response.body or b"").decode("utf-8", "replace").strip()
        raise ConsoleRefused(reason=printable(said) or str(error)) from error
    except (OSError, WebSocketException) as error:
        raise ConsoleRefused(reason=f"no connection to the proxy: {error}") from error


def _show_output(console: ClientConnection) -> None:
    try:
        for message in console:
            data = message.encode() if isinstance(message, str) else message
            os.write(sys.stdout.fileno(), data)
    except ConnectionClosed as error:
        raise ConsoleRefused(reason=printable(_reason(error))) from error


def _send_input(console: ClientConnection) -> None:
    """Send what is typed; its end is not the end of the console when input is a file."""
    with contextlib.suppress(OSError, ConnectionClosed):
        while data := os.read(sys.stdin.fileno(), PIECE_BYTES):
            before, escape, _ = data.partition(ESCAPE)
            if before:
                console.send(before)
            if escape:
                console.close()
                return


def _reason(error: ConnectionClosed) -> str:
    return "the connection broke" if error.rcvd is None else error.rcvd.reason


@contextlib.contextmanager
def _raw(terminal: int) -> Iterator[None]:
    """Pass on each key as it is pressed, while this lasts; other input is passed on as it is."""
    if not os.isatty(terminal):
        yield
        return
    former = termios.tcgetattr(terminal)
    try:
        tty.setraw(terminal)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, former)
