"""Who waits for messages is woken by one, by the bell, or not at all."""

import socket
import threading
from collections.abc import Iterator

import pytest

from rpc.polling import WakeReason, Wakeup

LONG_SECONDS = 30.0
IMMEDIATELY = 0.0


@pytest.fixture
def bell() -> Iterator[Wakeup]:
    made = Wakeup()
    yield made
    made.close()


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Lend what is read from, and what to write to."""
    source, other = socket.socketpair()
    yield source, other
    source.close()
    other.close()


def test_it_waits_while_there_is_nothing(bell, pair):
    assert bell.wait(pair[0], IMMEDIATELY) is WakeReason.BY_TIMEOUT


def test_something_to_read_ends_the_wait_and_stays_there(bell, pair):
    pair[1].send(b"x")
    assert bell.wait(pair[0], LONG_SECONDS) is WakeReason.BY_MESSAGE
    assert pair[0].recv(10) == b"x"


def test_a_ring_ends_the_wait_of_another_thread(bell, pair):
    threading.Timer(0.05, bell.wake).start()
    assert bell.wait(pair[0], LONG_SECONDS) is WakeReason.BY_WAKEUP


def test_rings_before_the_wait_end_one_wait(bell, pair):
    for _ in range(100_000):  # more than fit
        bell.wake()
    assert bell.wait(pair[0], LONG_SECONDS) is WakeReason.BY_WAKEUP
    while bell.wait(pair[0], IMMEDIATELY) is WakeReason.BY_WAKEUP:
        pass
    assert bell.wait(pair[0], IMMEDIATELY) is WakeReason.BY_TIMEOUT


def test_who_stops_goes_before_who_sends(bell, pair):
    pair[1].send(b"x")
    bell.wake()
    assert bell.wait(pair[0], LONG_SECONDS) is WakeReason.BY_WAKEUP


def test_a_lost_connection_is_to_be_read(bell, pair):
    pair[1].close()
    assert bell.wait(pair[0], LONG_SECONDS) is WakeReason.BY_MESSAGE
    pair[0].close()
    assert bell.wait(pair[0], LONG_SECONDS) is WakeReason.BY_MESSAGE


def test_a_closed_bell_rings_in_vain(bell):
    bell.close()
    bell.wake()
