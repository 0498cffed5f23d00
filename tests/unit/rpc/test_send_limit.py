"""Calls end in time while the broker is away: it refuses connections, or accepts and is silent."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from armillary import exception
from armillary.context import RequestContext, admin_context
from rpc import send_limit
from rpc.interface import Interface, call
from rpc.transport import Bus
from tests.fixtures.configuration import messaging_conf

SLACK_SECONDS = 5  # a retry that has begun, on a busy machine


class EchoAPI(Interface):
    TOPIC = "echo"
    SERVED_BY = "placement"

    @call()
    def echo(self, context: RequestContext, value: int) -> int: ...


@pytest.fixture
def port() -> Iterator[int]:
    """Return a port on which connections are accepted and nothing is ever said."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


@pytest.fixture
def closed_port() -> int:
    """Return a port that refuses connections."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def bus_to(port: int, tmp_path: Path) -> Bus:
    url = f"rabbit://guest:guest@127.0.0.1:{port}/"
    return Bus(messaging_conf(), url, process_name="client", lock_directory=tmp_path)


def seconds_of_call(bus: Bus, timeout_seconds: float) -> float:
    began = time.monotonic()
    with pytest.raises(exception.RpcUnavailable, match="could not be sent"):
        EchoAPI(bus, timeout_seconds=timeout_seconds).echo(admin_context(), 1)
    return time.monotonic() - began


def test_a_call_waits_no_longer_for_the_broker_than_for_an_answer(
    closed_port: int, tmp_path: Path
) -> None:
    """It knows that it was not sent."""
    assert seconds_of_call(bus_to(closed_port, tmp_path), 0.5) < 0.5 + SLACK_SECONDS


def test_a_broker_that_says_nothing_is_away(port: int, tmp_path: Path) -> None:
    """A stopped process still accepts connections."""
    assert seconds_of_call(bus_to(port, tmp_path), 0.5) < 0.5 + SLACK_SECONDS


def test_an_api_does_not_wait_while_the_broker_is_known_to_be_away(
    closed_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its threads are few; the client can come again."""
    monkeypatch.setattr(send_limit, "OUTAGE_SECONDS_MAX", 0.0)
    bus = bus_to(closed_port, tmp_path)
    bus.fail_fast()
    assert seconds_of_call(bus, 60) < SLACK_SECONDS
