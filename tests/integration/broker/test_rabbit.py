"""Calls on a real broker: reply queues after a break, no time-out if no server ever existed."""

import contextlib
import json
import logging
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from kombu.connection import Connection
from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext, admin_context
from rpc import oslo_internals, rabbit
from rpc.interface import Interface, call, cast, fanout
from rpc.transport import Bus
from tests.fixtures import waiting
from tests.fixtures.asking import wait_for
from tests.fixtures.checks.looks import Looks
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.services import RABBITMQ, leave_out
from tests.fixtures.services.brokers import Broker, close_connections, evaluate, rabbitmqctl

SECONDS_MAX = 30
HEALED_SECONDS_MAX = 5
BEFORE_LOSS, AFTER_LOSS = 200, 1_000
BEFORE_CUT = 40  # more than the library remembers, in the seconds that are heard again
CACHED_SECONDS_MAX = 2  # an idle channel of the broker forgets what it may do

MakeBus = Callable[[str], Bus]


class Echo:
    """Answers immediately, or when it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.release = threading.Event()

    def echo(self, context: Any, value: int) -> int:
        return value

    def hang(self, context: Any) -> str:
        self.begun.set()
        self.release.wait(waiting.seconds(SECONDS_MAX))
        return "answered"


class EchoAPI(Interface):
    TOPIC = "echo"
    SERVED_BY = "placement"

    @call()
    def echo(self, context: RequestContext, value: int) -> int: ...

    @call()
    def hang(self, context: RequestContext) -> str: ...


BUSY_SECONDS = 5  # the broker closes a connection after three missed heartbeats, of a second each
QUIET_SECONDS_MAX = 1.0  # a process that is stalled for longer sends no heartbeat either
TRIES = 5
CLOSED = -1


class StrangerAPI(EchoAPI):
    TOPIC = "never_served"


class Heard:
    def __init__(self) -> None:
        self.values: queue.Queue[int] = queue.Queue()

    def tell(self, context: Any, value: int) -> None:
        self.values.put(value)


class CastAPI(Interface):
    TOPIC = "cell_conductor"
    SERVED_BY = "cell_conductor"

    @cast()
    def tell(self, context: RequestContext, value: int) -> None: ...


class ToAllAPI(Interface):
    TOPIC = "compute"
    SERVED_BY = "compute"

    @fanout()
    def tell(self, context: RequestContext, value: int) -> None: ...


class NamedAPI(Interface):
    TOPIC = "compute"
    SERVED_BY = "compute"
    ADDRESSED_BY = "host"

    @call()
    def echo(self, context: RequestContext, host: str | None, value: int) -> int: ...


@pytest.fixture
def make_bus(broker: Broker, tmp_path: Path) -> Iterator[MakeBus]:
    """Return a function that makes a bus as every service makes its own."""
    buses: list[Bus] = []

    def make(name: str) -> Bus:
        conf: cfg.ConfigOpts = messaging_conf()
        buses.append(Bus(conf, broker.url, process_name=name, lock_directory=tmp_path))
        return buses[-1]

    yield make
    for bus in buses:
        bus.close()


@pytest.fixture
def echo(make_bus: MakeBus) -> Iterator[Echo]:
    endpoint = Echo()
    server = make_bus("server").server(EchoAPI, "one", [endpoint])
    server.start()
    yield endpoint
    endpoint.release.set()
    server.stop()
    server.wait()


@pytest.fixture
def bus(make_bus: MakeBus) -> Bus:
    return make_bus("client")


@pytest.fixture
def api(bus: Bus) -> EchoAPI:
    return EchoAPI(bus, timeout_seconds=SECONDS_MAX)


def test_answers_come_through_an_exclusive_queue(echo: Echo, api: EchoAPI, broker: Broker) -> None:
    """It is the only transient queue, and no other connection can read it."""
    assert api.echo(admin_context(), 1) == 1
    replies = [each for each in queues_of(broker) if each["name"].startswith("replies_")]
    assert [(each["type"], each["durable"], each["exclusive"]) for each in replies] == [
        ("classic", False, True)
    ]


def test_an_answer_finds_the_queue_of_a_connection_made_again(
    echo: Echo, api: EchoAPI, bus: Bus
) -> None:
    """A call outlives the loss of the connection that waits for its answer."""
    answers: list[str] = []
    caller = threading.Thread(target=lambda: answers.append(api.hang(admin_context())))
    caller.start()
    assert echo.begun.wait(waiting.seconds(SECONDS_MAX))
    consumer = _waiting(bus).reply_consumer
    lost = consumer._declared_on
    _cut(bus)
    # An answer that comes before the broker sees the loss goes with the queue.
    wait_for(lambda: consumer._declared_on is not lost, "the queue is declared again", SECONDS_MAX)
    echo.release.set()
    caller.join(waiting.seconds(SECONDS_MAX))
    assert answers == ["answered"]


def test_a_queue_that_the_broker_holds_for_another_connection_gets_another_name(
    echo: Echo, api: EchoAPI, bus: Bus, broker: Broker, make_bus: MakeBus
) -> None:
    """The broker may take a minute to see that a connection is lost; the client does not wait."""
    assert api.echo(admin_context(), 1) == 1
    consumer = _waiting(bus).reply_consumer
    taken = _name_of_another(make_bus)
    consumer.queue_name = taken
    _cut(bus)
    wait_for(lambda: consumer.queue_name != taken, "it has another name", SECONDS_MAX)
    assert api.echo(admin_context(), 2) == 2
    assert consumer.queue_name not in {taken, ""}


def test_a_fanout_that_others_read_is_made_again_after_it_was_deleted(
    broker: Broker, make_bus: MakeBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a process that was connected all the time: those who read it may not create it."""
    monkeypatch.setattr(rabbit, "FANOUTS_SECONDS", 0.1)
    server = make_bus("conductor").server(CastAPI, "one", [Heard()])
    server.start()

    def streams() -> list[str]:
        return [each["name"] for each in queues_of(broker) if each["type"] == "stream"]

    try:
        assert "compute_fanout" in streams()
        with Connection(broker.url.replace("rabbit://", "amqp://")) as administrator:
            administrator.channel().queue_delete("compute_fanout")
        wait_for(lambda: "compute_fanout" in streams(), "it is there again", SECONDS_MAX)
    finally:
        server.stop()
        server.wait()


def test_a_call_of_what_was_never_served_fails_immediately(
    echo: Echo, api: EchoAPI, bus: Bus
) -> None:
    """It does not wait for its time-out, and the next call knows nothing of it."""
    stranger = StrangerAPI(bus, timeout_seconds=SECONDS_MAX)
    deadline = waiting.Deadline(SECONDS_MAX / 2)
    for number in range(3):
        with pytest.raises(exception.RpcUnavailable, match="no server ever served"):
            stranger.echo(admin_context(), number)
        assert api.echo(admin_context(), number) == number
    assert not deadline.has_passed


def test_servers_of_an_older_release_are_reached(
    broker: Broker, make_bus: MakeBus, tmp_path: Path
) -> None:
    """They know of no door: a message goes the way that they listen on until one of ours serves."""
    with Connection(broker.url.replace("rabbit:", "amqp:")) as connection:
        channel = connection.channel()
        channel.exchange_declare("armillary", "topic", durable=True, auto_delete=False)
        quorum = {"x-queue-type": "quorum"}
        channel.queue_declare("cell_conductor", durable=True, auto_delete=False, arguments=quorum)
        channel.queue_bind("cell_conductor", "armillary", "cell_conductor")
        caller = CastAPI(make_bus("client"))
        caller.tell(admin_context(), 1)
        assert "tell" in _next(channel, "cell_conductor").body
    endpoint = Heard()
    server = make_bus("server").server(CastAPI, "one", [endpoint])
    server.start()
    caller.tell(admin_context(), 2)
    assert endpoint.values.get(timeout=waiting.seconds(SECONDS_MAX)) == 2
    server.stop()
    server.wait()


def test_a_topic_without_a_queue_of_all_is_served_by_name(make_bus: MakeBus) -> None:
    """A call that names no host fails: no queue takes it."""
    server = make_bus("server").server(NamedAPI, "host1", [Echo()])
    server.start()
    api = NamedAPI(make_bus("client"), timeout_seconds=SECONDS_MAX)
    assert api.echo(admin_context(), "host1", 3) == 3
    with pytest.raises(exception.RpcUnavailable):
        api.echo(admin_context(), None, 4)
    server.stop()
    server.wait()


def test_no_server_polls_for_messages_that_are_not_sent(
    echo: Echo, api: EchoAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither who serves nor who waits for answers; heartbeats take a look in many seconds."""
    looks = Looks(monkeypatch, Connection)
    assert api.echo(admin_context(), 1) == 1
    before = looks.wait_for_none()
    assert api.echo(admin_context(), 2) == 2
    one_for_each_message, heartbeats = 2, 2
    assert looks.wait_for_none() - before <= one_for_each_message + heartbeats


def test_a_connection_that_only_receives_stays_open(
    echo: Echo, broker: Broker, tmp_path: Path
) -> None:
    """Answers come in all the time: the broker hears heartbeats between them, too."""
    conf: cfg.ConfigOpts = messaging_conf()
    conf.set_override("heartbeat_timeout_threshold", 1, group="oslo_messaging_rabbit")
    bus = Bus(conf, broker.url, process_name="busy", lock_directory=tmp_path)
    try:
        api = EchoAPI(bus, timeout_seconds=SECONDS_MAX)
        for _ in range(TRIES):
            connected, longest = _kept_busy(api, bus)
            if longest < QUIET_SECONDS_MAX:
                break
        assert _waiting(bus).connection._connection is connected
    finally:
        bus.close()


def _kept_busy(api: EchoAPI, bus: Bus) -> tuple[object, float]:
    """Call all the time; return the connection at first, and the longest time without answers."""
    api.echo(admin_context(), 0)
    connected, longest = _waiting(bus).connection._connection, 0.0
    began = answered = time.monotonic()
    while answered < began + BUSY_SECONDS:
        assert api.echo(admin_context(), 1) == 1
        longest, answered = max(longest, time.monotonic() - answered), time.monotonic()
    return connected, longest


@pytest.fixture
def vhost(broker: Broker) -> str:
    """Return the name of a virtual host whose permissions the test may change."""
    if broker.suffix:
        leave_out(RABBITMQ.title, "permissions are for root on the broker's machine")
    return urlsplit(broker.url).path.removeprefix("/")


NO_NAME, ANY_NAME = "^$", ".*"


@pytest.mark.long
def test_no_connection_stays_broken_after_a_refusal(
    echo: Echo, api: EchoAPI, bus: Bus, vhost: str, broker: Broker
) -> None:
    """The broker closes the channel of an account that may not send; new ones are opened."""
    user = urlsplit(broker.url).username or ""
    assert api.echo(admin_context(), 1) == 1
    _permit(user, vhost, NO_NAME)
    while _is_answered(bus):
        threading.Event().wait(CACHED_SECONDS_MAX)
    _permit(user, vhost, ANY_NAME)
    wait_for(lambda: _is_answered(bus), "the broker lets it send again", HEALED_SECONDS_MAX, 0.1)
    assert [api.echo(admin_context(), number) for number in range(5)] == list(range(5))


def test_calls_are_answered_again_after_the_broker_lost_its_data(
    echo: Echo, api: EchoAPI, bus: Bus, vhost: str, broker: Broker
) -> None:
    """Exchanges and queues are declared again by those who use them."""
    assert api.echo(admin_context(), 1) == 1
    evaluate(f'rabbit_vhost:delete(<<"{vhost}">>, <<"tests">>)')
    wait_for(lambda: not _is_answered(bus), "the broker refuses", SECONDS_MAX, 0.1)
    evaluate(f'rabbit_vhost:add(<<"{vhost}">>, <<"tests">>)')
    _permit(urlsplit(broker.url).username or "", vhost, ANY_NAME)
    wait_for(lambda: _is_answered(bus), "its services are back", HEALED_SECONDS_MAX, 0.1)


def test_what_goes_to_all_is_heard_again_after_the_broker_lost_its_data(
    make_bus: MakeBus, vhost: str, broker: Broker
) -> None:
    """Its messages are counted from 0 again, and more of them were heard before."""
    endpoint = Heard()
    server = make_bus("server").server(ToAllAPI, "one", [endpoint])
    server.start()
    bus = make_bus("client")
    for value in range(BEFORE_LOSS):
        ToAllAPI(bus, timeout_seconds=SECONDS_MAX).tell(admin_context(), value)
    assert [endpoint.values.get(timeout=waiting.seconds(SECONDS_MAX)) for _ in range(BEFORE_LOSS)]
    user = urlsplit(broker.url).username or ""
    _permit(user, vhost, NO_NAME)
    close_connections(vhost)  # together, as by a broker that dies: no consumer is told
    evaluate(f'rabbit_vhost:delete(<<"{vhost}">>, <<"tests">>)')
    evaluate(f'rabbit_vhost:add(<<"{vhost}">>, <<"tests">>)')
    _permit(user, vhost, ANY_NAME)

    caller = ToAllAPI(bus, timeout_seconds=1)

    def is_heard() -> bool:
        with contextlib.suppress(exception.ArmillaryError):
            caller.tell(admin_context(), AFTER_LOSS)
        with contextlib.suppress(queue.Empty):
            return endpoint.values.get(timeout=0.2) == AFTER_LOSS
        return False

    wait_for(is_heard, "it hears what all are told", HEALED_SECONDS_MAX, 0.1)
    server.stop()
    server.wait()


def _is_answered(bus: Bus) -> bool:
    impatient = EchoAPI(bus, timeout_seconds=1)
    try:
        return impatient.echo(admin_context(), 1) == 1
    except (exception.RpcUnavailable, exception.RpcTimeout):
        return False


def test_what_a_stream_repeats_after_a_lost_connection_is_dropped_silently(
    make_bus: MakeBus, vhost: str, caplog: pytest.LogCaptureFixture
) -> None:
    """However many there were: each is heard once, in any order, and at DEBUG."""
    endpoint = Heard()
    server = make_bus("server").server(ToAllAPI, "one", [endpoint])
    server.start()
    caller = ToAllAPI(make_bus("client"), timeout_seconds=SECONDS_MAX)
    heard: list[int] = []
    for value in range(BEFORE_CUT):
        caller.tell(admin_context(), value)
    while len(heard) < BEFORE_CUT:
        heard.append(endpoint.values.get(timeout=waiting.seconds(SECONDS_MAX)))
    with caplog.at_level(logging.DEBUG):
        close_connections(vhost)
        wait_for(
            lambda: caplog.text.count("received before") >= BEFORE_CUT, "the repeats", SECONDS_MAX
        )
        caller.tell(admin_context(), BEFORE_CUT)
        heard.append(endpoint.values.get(timeout=waiting.seconds(SECONDS_MAX)))
    server.stop()
    server.wait()
    assert sorted(heard) == list(range(BEFORE_CUT + 1))
    assert endpoint.values.empty()
    about = [each for each in caplog.records if "uplicate" in each.getMessage()]
    about += [each for each in caplog.records if "received before" in each.getMessage()]
    assert {each.levelno for each in about} == {logging.DEBUG}


def test_a_broken_connection_leaves_no_socket_open(bus: Bus, echo: Echo) -> None:
    """The heartbeats notice it, and connect again; the broker has said nothing."""
    api = EchoAPI(bus, timeout_seconds=SECONDS_MAX)
    assert api.echo(admin_context(), 1) == 1
    with oslo_internals.driver_of(bus.transport)._get_connection() as pooled:
        connection = pooled.connection
        broken = connection.channel.connection.sock
        broken.shutdown(socket.SHUT_RDWR)
        connection.ensure_connection()
        assert broken.fileno() == CLOSED
    assert api.echo(admin_context(), 2) == 2


def _permit(user: str, vhost: str, names: str) -> None:
    three = ", ".join([f'<<"{names}">>'] * 3)
    evaluate(
        "rabbit_auth_backend_internal:set_permissions"
        f'(<<"{user}">>, <<"{vhost}">>, {three}, <<"tests">>)'
    )


def _next(channel: Any, queue: str) -> Any:
    return wait_for(
        lambda: channel.basic_get(queue, no_ack=True), f"a message in {queue}", SECONDS_MAX
    )


def _name_of_another(make_bus: MakeBus) -> str:
    other = make_bus("another")
    EchoAPI(other, timeout_seconds=SECONDS_MAX).echo(admin_context(), 0)
    name: str = _waiting(other).reply_consumer.queue_name
    return name


def _waiting(bus: Bus) -> Any:
    """Return the connection on which answers come in."""
    return bus.transport._driver._reply_q_conn.connection


def _cut(bus: Bus) -> None:
    _waiting(bus).connection._connection.sock.shutdown(socket.SHUT_RDWR)


def queues_of(broker: Broker) -> list[dict[str, Any]]:
    vhost = urlsplit(broker.url).path.removeprefix("/")
    columns = ["name", "type", "durable", "exclusive"]
    listed = rabbitmqctl("--formatter", "json", "list_queues", "-p", vhost, *columns)
    queues: list[dict[str, Any]] = json.loads(listed)
    return queues
