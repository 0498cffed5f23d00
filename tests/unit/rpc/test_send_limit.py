"""Calls end in time while the broker refuses connections, or accepts them and is silent."""

import socket
import threading
import time
import types
from collections.abc import Iterator
from pathlib import Path

import oslo_messaging
import pytest

from armillary import exception
from armillary.context import RequestContext, admin_context
from rpc import oslo_internals, rabbit, send_limit
from rpc.interface import Interface, call
from rpc.replies import _Replies
from rpc.transport import Bus
from tests.fixtures.asking import wait_for
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.services.ports import free_port

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
    return free_port()


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


@pytest.mark.parametrize(
    ("purpose", "seconds"),
    [
        pytest.param("send", 2.0, id="send"),
        pytest.param(oslo_internals.PURPOSE_LISTEN, 60.0, id="listen"),
    ],
)
def test_a_message_is_waited_for_no_longer_than_what_is_left_of_its_call(
    purpose: str, seconds: float, port: int
) -> None:
    """Also when a connection that was lost has taken most of it; later users have all the time."""
    with socket.create_connection(("127.0.0.1", port)) as own:
        connection = object.__new__(rabbit._Connection)
        connection.purpose = purpose
        connection.channel = types.SimpleNamespace(
            is_open=True, connection=types.SimpleNamespace(sock=own)
        )
        connection.heartbeat_timeout_threshold = 60
        connection._heartbeat_supported_and_enabled = lambda: True
        with send_limit.limited(2.0):
            connection.set_transport_socket_timeout(60.0)
            assert (own.gettimeout() or 0) <= seconds
            assert connection._is_socket_limited == (seconds == 2.0)
        connection.ensure(connection.set_transport_socket_timeout)
        assert own.gettimeout() == 60.0
        assert not connection._is_socket_limited


def test_a_broker_that_says_nothing_is_away(port: int, tmp_path: Path) -> None:
    """A stopped process still accepts connections."""
    assert seconds_of_call(bus_to(port, tmp_path), 0.5) < 0.5 + SLACK_SECONDS


def test_an_api_does_not_wait_while_the_broker_is_known_to_be_away(
    closed_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its threads are few; the client can come again."""
    monkeypatch.setattr(send_limit, "OUTAGE_SECONDS_MAX", 0.0)
    bus = bus_to(closed_port, tmp_path)
    bus.fail_fast(waiting_max=8)
    assert seconds_of_call(bus, 60) < SLACK_SECONDS


def test_few_threads_wait_for_a_broker_that_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are told immediately, until it confirms again."""
    monkeypatch.setattr(send_limit, "CROWD_SECONDS", 0.0)
    outage = send_limit.Outage()
    outage.fail_fast(waiting_max=2)
    with outage.waiting():
        outage.refuse()  # one may be slow
        confirmed = threading.Event()
        other = threading.Thread(target=lambda: _wait(outage, confirmed))
        other.start()
        wait_for(lambda: outage.is_known(), "two wait")
        with pytest.raises(oslo_messaging.MessageDeliveryFailure):
            outage.refuse()
        confirmed.set()
        other.join()
        outage.refuse()


def test_a_call_ends_when_the_broker_is_away_while_it_waits_for_its_answer() -> None:
    """The outcome is unknown, and the answer would come much later if at all."""
    outage = send_limit.Outage()
    outage.fail_fast(waiting_max=2)
    found = _Replies(_NoReply(outage), outage)
    with pytest.raises(oslo_messaging.MessagingTimeout, match="unreachable"):
        found.get("msg", 3600.0)


def _wait(outage: send_limit.Outage, confirmed: threading.Event) -> None:
    with outage.waiting():
        confirmed.wait()


class _NoReply:
    """Queues in which nothing arrives, as the broker has been away for long."""

    def __init__(self, outage: send_limit.Outage) -> None:
        self._outage = outage

    def get(self, msg_id: str, timeout: float) -> None:
        self._outage._since = time.monotonic() - send_limit.OUTAGE_SECONDS_MAX
        raise oslo_messaging.MessagingTimeout(msg_id)
