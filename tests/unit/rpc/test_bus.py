"""Calls, casts and fanouts over the embedded broker, which serialises like RabbitMQ."""

import pkgutil
import threading
import uuid

import oslo_messaging
import pytest
from kombu.transport import get_transport_cls, memory

from armillary import exception
from armillary.context import admin_context
from objects.flavor import Flavor
from objects.images.image_meta import ImageMeta
from rpc import broker_logs, memory_transport, send_limit
from rpc.interface import Interface, call, cast, fanout
from rpc.transport import Bus
from tests.fixtures.asking import wait_for
from tests.fixtures.checks.looks import Looks
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.messages.interfaces import Anything
from tests.fixtures.waiting import seconds

SERIALISE = "oslo_messaging._drivers.common.serialize_remote_exception"


class Echo:
    """An endpoint with a bit of everything."""

    def __init__(self):
        self.heard = []
        self.changed = threading.Condition()
        self.release = threading.Event()

    def echo(self, context, value):
        return {"value": value, "request_id": context.request_id}

    def echo_flavors(self, context, value):
        assert all(isinstance(each, Flavor) for each in value["flavors"])
        return self.echo(context, value)

    def hear(self, context, value):
        with self.changed:
            self.heard.append(value)
            self.changed.notify_all()

    def hear_all(self, context, value):
        self.hear(context, value)

    def refuse(self, context):
        raise exception.NoValidHost(reason="none left", trace={"filters": [1]})

    def break_down(self, context):
        raise KeyError("inner detail")

    def lose_database(self, context):
        try:
            self.break_down(context)
        except KeyError as error:
            raise exception.DatabaseUnavailable(name="cell", reason="away") from error

    def hang(self, context):
        self.release.wait(30)

    def hidden(self, context):
        return "must not be reachable"

    def wait_for(self, count):
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.heard) >= count, seconds(10))


class EchoAPI(Interface):
    TOPIC = "echo"
    SERVED_BY = "placement"

    @call()
    def echo(self, context, value): ...

    @call()
    def echo_flavors(
        self, context, value: dict[str, list[Flavor]]
    ) -> dict[str, dict[str, list[Flavor]]]: ...

    @cast()
    def hear(self, context, value): ...

    @fanout()
    def hear_all(self, context, value): ...

    @call()
    def refuse(self, context): ...

    @call()
    def break_down(self, context): ...

    @call()
    def lose_database(self, context): ...

    @call()
    def hang(self, context, *, timeout_seconds): ...


class NamedEchoAPI(Interface):
    """The same, by name."""

    TOPIC = "echo"
    SERVED_BY = "placement"
    ADDRESSED_BY = "name"

    @cast()
    def hear(self, context, name, value): ...


@pytest.fixture
def conf():
    return messaging_conf()


@pytest.fixture
def url():
    return f"kombu+memory:////{uuid.uuid4()}"


@pytest.fixture
def make_bus(conf):
    buses = []

    def make(url):
        buses.append(Bus(conf, url))
        return buses[-1]

    yield make
    for bus in buses:
        bus.close()


@pytest.fixture
def serve(make_bus, url):
    servers = []

    def start(name="one"):
        endpoint = Echo()
        server = make_bus(url).server(EchoAPI, name, [endpoint])
        server.start()
        servers.append((server, endpoint))
        return endpoint

    yield start
    for server, endpoint in servers:
        endpoint.release.set()
        server.stop()
        server.wait()


@pytest.fixture
def api(make_bus, url):
    return EchoAPI(make_bus(url), timeout_seconds=seconds(10))


def test_a_call_carries_values_and_the_request_id(serve, api):
    """The other side sees the caller's context and answers."""
    serve()
    context = admin_context()
    answer = api.echo(context, [1, "two", None])
    assert answer == {"value": [1, "two", None], "request_id": context.request_id}


def test_objects_inside_containers_cross_the_wire(serve, api):
    """A versioned object in a list in a dict arrives as an object."""
    serve()
    flavor = Flavor.from_values(flavorid="1", name="small", vcpus=2, memory_mb=512)
    answer = api.echo_flavors(admin_context(), {"flavors": [flavor]})
    assert answer["value"]["flavors"][0].vcpus == 2


def test_objects_that_a_method_does_not_declare_stay_plain(serve, api):
    """Whatever is in an argument or an answer, only what its type names is made of it."""
    endpoint = serve()
    flavor = Flavor.from_values(flavorid="1", name="small", vcpus=2, memory_mb=512)
    primitive = flavor.obj_to_primitive()
    assert api.echo(admin_context(), flavor)["value"] == primitive
    api.hear(admin_context(), [flavor])
    endpoint.wait_for(1)
    assert endpoint.heard == [[primitive]]


def test_another_object_than_the_declared_one_is_refused(serve, api):
    """Before anything is made of it, and told to the caller in one sentence."""
    serve()
    image = ImageMeta.from_values(id=str(uuid.uuid4()), name="loop")
    with pytest.raises(exception.Invalid, match="ImageMeta' is not one of Flavor"):
        api.echo_flavors(admin_context(), {"flavors": [image]})


def test_our_errors_arrive_as_their_own_class_with_their_facts(serve, api):
    """The caller can catch the leaf and read the facts; no traceback in the message."""
    serve()
    with pytest.raises(exception.NoValidHost) as caught:
        api.refuse(admin_context())
    assert type(caught.value) is exception.NoValidHost
    assert caught.value.kwargs["trace"] == {"filters": [1]}
    assert str(caught.value) == "No valid host was found. none left"


def test_an_unexpected_error_is_told_apart(serve, api):
    """A bug of the other side is not mistaken for a refusal."""
    serve()
    with pytest.raises(exception.RpcFailed, match="KeyError"):
        api.break_down(admin_context())


def test_an_answer_tells_no_inner_details(serve, api, monkeypatch, caplog):
    """What a database said, with its SQL, is for this process's log, not for a compute agent."""
    sent = []
    serialise = pkgutil.resolve_name(SERIALISE)
    monkeypatch.setattr(SERIALISE, lambda *args: sent.append(serialise(*args)) or sent[-1])
    serve()
    with pytest.raises(exception.RpcFailed):
        api.break_down(admin_context())
    with pytest.raises(exception.DatabaseUnavailable, match="away"):
        api.lose_database(admin_context())
    assert len(sent) == 2
    assert not [answer for answer in sent if "inner detail" in answer]
    assert "inner detail" in caplog.text


def test_what_is_not_declared_cannot_be_called(serve, make_bus, url):
    """A method of an endpoint is not yet one of the interface."""
    serve()
    with pytest.raises(exception.RpcFailed, match="hidden"):
        Anything(make_bus(url), EchoAPI).call("hidden")


def test_no_answer_is_a_timeout_of_unknown_outcome(serve, api):
    """The caller learns that it does not know."""
    serve()
    with pytest.raises(exception.RpcTimeout, match="outcome unknown"):
        api.hang(admin_context(), timeout_seconds=0.2)


def test_a_message_that_the_broker_did_not_confirm_is_not_called_unanswered(
    make_bus, url, monkeypatch
):
    """Nothing was waited for as long as for an answer, and the outcome is as unknown."""

    def stall(*_arguments, **_how):
        with send_limit.limited(60):
            send_limit.publishing()
            raise send_limit.failure(TimeoutError("timed out"))

    bus = make_bus(url)
    monkeypatch.setattr(bus.transport._driver, "send", stall)
    with pytest.raises(exception.RpcNotConfirmed, match="did not confirm echo on echo in time"):
        EchoAPI(bus, timeout_seconds=60).echo(admin_context(), 1)


def test_a_fanout_reaches_every_server(serve, api):
    """Two servers of a topic both hear it."""
    endpoints = [serve("one"), serve("two")]
    api.hear_all(admin_context(), 7)
    for endpoint in endpoints:
        endpoint.wait_for(1)
    assert [endpoint.heard for endpoint in endpoints] == [[7], [7]]


def test_a_cast_to_a_name_reaches_that_server_only(serve, make_bus, url):
    """A compute agent gets its own messages."""
    one, two = serve("one"), serve("two")
    NamedEchoAPI(make_bus(url)).hear(admin_context(), "two", 1)
    two.wait_for(1)
    assert one.heard == []


def test_virtual_hosts_of_the_embedded_broker_are_apart(serve, make_bus):
    """A cell's broker does not leak into the top one."""
    serve()
    elsewhere = EchoAPI(make_bus(f"kombu+memory:////{uuid.uuid4()}"), timeout_seconds=0.3)
    with pytest.raises(exception.RpcTimeout):
        elsewhere.echo(admin_context(), 1)


def test_a_bus_on_rabbitmq_leaves_the_embedded_broker_as_it_is(
    serve, make_bus, conf, url, tmp_path
):
    """Of one process, with one configuration: calls and fanouts of new connections arrive."""
    served = serve()
    unreachable = Bus(conf, "rabbit://u:p@127.0.0.1:1/cell", lock_directory=tmp_path)
    try:
        api = EchoAPI(make_bus(url), timeout_seconds=seconds(5))
        assert api.echo(admin_context(), 1)["value"] == 1
        api.hear_all(admin_context(), 2)
        served.wait_for(1)
    finally:
        unreachable.close()


def test_no_server_polls_for_messages_that_are_not_sent(serve, api, monkeypatch):
    """Each look takes more than a message does, and there are dozens of consumers."""
    looks = Looks(monkeypatch, memory_transport.Transport)
    serve()
    assert api.echo(admin_context(), 1)["value"] == 1
    looks.wait_for_none()
    assert api.echo(admin_context(), 2)["value"] == 2
    looks.wait_for_none()


def test_ping_answers(serve, api):
    """Every server tells that it lives."""
    serve()
    api.ping(admin_context())


def test_ping_without_a_server_raises(api):
    """A topic without servers does not answer."""
    with pytest.raises(exception.RpcTimeout):
        api.ping(admin_context(), timeout_seconds=0.2)


def test_an_unusable_url_is_a_configuration_error(conf):
    """The operator reads what is expected."""
    with pytest.raises(exception.ConfigurationError, match="rabbit://"):
        Bus(conf, "nonsense://x")


@pytest.mark.parametrize(
    "error",
    [
        oslo_messaging.MessageDeliveryFailure("no broker at amqp://api:secret@mq1/top"),
        oslo_messaging.MessageUndeliverable("gone", "replies", "amqp://api:secret@mq1/top", None),
    ],
    ids=["no-broker", "no-caller"],
)
def test_answers_that_cannot_be_sent_are_one_line_a_minute(
    make_bus, serve, url, monkeypatch, caplog, error
) -> None:
    """A traceback for each would hide what matters; what was left out is counted."""

    def refuse(*_answer, **_failure):
        raise error

    def logged():
        return [each for each in caplog.records if "answer" in each.getMessage()]

    serve()
    api = EchoAPI(make_bus(url), timeout_seconds=0.3)
    monkeypatch.setattr("oslo_messaging._drivers.amqpdriver.AMQPIncomingMessage.reply", refuse)
    monkeypatch.setattr(broker_logs._unsent_answers, "_said_at", float("-inf"))
    monkeypatch.setattr(broker_logs._unsent_answers, "_unsaid", 0)
    for _ in range(3):
        with pytest.raises(exception.RpcTimeout):
            api.echo(admin_context(), 1)
    wait_for(lambda: broker_logs._unsent_answers._unsaid == 2, "all three were tried", 10)
    monkeypatch.setattr(broker_logs._unsent_answers, "_said_at", float("-inf"))
    with pytest.raises(exception.RpcTimeout):
        api.echo(admin_context(), 1)
    wait_for(lambda: len(logged()) >= 2, "the last one was tried", 10)
    first, last = logged()
    assert (first.levelname, first.exc_info) == ("WARNING", None)
    assert "amqp://api:***@mq1/top" in first.getMessage()
    assert "(2 more since the last message)" in last.getMessage()


def test_our_exchange_is_our_own(conf, make_bus, url):
    """A virtual host may be shared with other users of the same library."""
    make_bus(url)
    assert conf.control_exchange == "armillary"


def test_kombu_keeps_its_own_transport_in_memory() -> None:
    """Ours has a name of its own."""
    memory_transport.install()
    assert get_transport_cls("memory") is memory.Transport
    assert get_transport_cls(memory_transport.ALIAS) is memory_transport.Transport
