"""A deployment, made by ``deploy single``, ``add-cell`` and ``add-host``, and its broker accounts.

What a broker refuses is tried with an agent's account, and with a parent zone's.
"""

import os
import queue
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import amqp
import pytest
from kombu.connection import Connection
from sqlalchemy.engine import make_url

from armillary import exception
from armillary.context import admin_context
from compute_agent.interface import ComputeAPI
from conductor.cell_conductor.interface import CellConductorAPI
from conductor.super_conductor.zones.interface import ZoneAPI, ZoneSummariesAPI
from rpc.broker import broker_accounts, topics
from rpc.broker.broker_accounts import CELL_CONDUCTOR, COMPUTE, TOP
from rpc.interface import Interface
from rpc.notifications import event_feed
from rpc.transport import Bus
from tests.fixtures import waiting
from tests.fixtures.asking import wait_for
from tests.fixtures.checks.ledger import (
    assert_all_active,
    assert_nothing_is_lost,
    delete_everything,
)
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.messages.interfaces import part_of
from tests.fixtures.services import RABBITMQ
from tests.fixtures.services.brokers import fresh_vhost
from tests.integration.deployed_by_command import CommandDeployment, two_cells_by_command
from tests.integration.trust.account_attacks import OWN, Thief, exchanges_of, queues_of

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.sampled_file(every=3)]

THIEF, OTHER = "cell2-agent-1", "cell2-agent-2"
ACCESS_REFUSED = 403
NOT_FOUND = 404
RESOURCE_LOCKED = 405

Attempt = Callable[[amqp.Channel], Any]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandDeployment]:
    folder: Path = tmp_path_factory.mktemp("accounts")
    with two_cells_by_command(folder) as running:
        yield running


@pytest.fixture
def connections() -> Iterator[Callable[[str], Connection]]:
    """Lend a way to connect to a broker, as a client with an account there does."""
    with ExitStack() as made:
        yield lambda url: made.enter_context(
            Connection(
                url.replace("rabbit://", "amqp://"), transport_options={"confirm_publish": True}
            )
        )


@pytest.fixture
def thief(deployment: CommandDeployment, connections: Callable[[str], Connection]) -> Connection:
    """Return a connection by the account of an agent."""
    cell = deployment.cells[1]
    return connections(deployment.url_for(cell.transport_url, "compute", "cell", THIEF))


def publish(exchange: str, key: str, **headers: Any) -> Attempt:
    message = amqp.Message("forged", application_headers=headers)
    return lambda channel: channel.basic_publish(message, exchange=exchange, routing_key=key)


def consume(name: str) -> Attempt:
    return lambda channel: channel.basic_consume(name)


def get(name: str) -> Attempt:
    return lambda channel: channel.basic_get(name)


def declare(name: str) -> Attempt:
    return lambda channel: channel.queue_declare(name, durable=True, auto_delete=False)


def delete(name: str) -> Attempt:
    return lambda channel: channel.queue_delete(name)


def delete_exchange(exchange: str) -> Attempt:
    return lambda channel: channel.exchange_delete(exchange)


def bind(name: str, exchange: str, key: str) -> Attempt:
    return lambda channel: channel.queue_bind(name, exchange, key)


def refusal(connection: Connection, attempt: Attempt) -> int:
    """Return the code with which the broker refused an attempt, 0 if it did not."""
    try:
        attempt(connection.channel())
    except amqp.exceptions.AMQPError as error:
        code: int = error.code
        return code
    return 0


MINE = f"compute.{THIEF}"
NOT_FOR_AN_AGENT = {
    "read another host's queue": consume(f"compute.{OTHER}"),
    "take from another host's queue": get(f"compute.{OTHER}"),
    "declare another host's queue": declare(f"compute.{OTHER}"),
    "declare a queue of everybody": declare("compute"),
    "declare a queue of any name": declare("a-new-one"),
    "delete another host's queue": delete(f"compute.{OTHER}"),
    "delete the stream of all agents": delete("compute_fanout"),
    "delete the exchange of all": delete_exchange("armillary"),
    "bind another host's messages to its own queue": bind(MINE, "armillary", f"compute.{OTHER}"),
    "bind everybody's messages to its own queue": bind(MINE, "armillary", "#"),
    "bind the conductor's messages": bind(MINE, "armillary_cell_conductor", "cell_conductor"),
    "bind everybody's answers": bind(MINE, "armillary_replies", "#"),
    "read the conductor's queue": consume("cell_conductor"),
    "delete the conductor's queue": delete("cell_conductor"),
    "send another host a command": publish("armillary", f"compute.{OTHER}"),
    "send all hosts a command": publish("compute_fanout", ""),
    "tell all conductors something": publish("cell_conductor_fanout", ""),
    "put a message into a queue by its name": publish("", f"compute.{OTHER}"),
    "answer another agent": publish("armillary_replies", f"replies_x-compute-{OTHER}:a:b:c"),
    "make an exchange": lambda channel: channel.exchange_declare("new", "topic"),
    "send a notification": publish("armillary", "versioned_notifications.info"),
    "put a notification into its queue": publish("", "versioned_notifications.info"),
    "make the queue of notifications": declare("versioned_notifications.info"),
    "read notifications": consume("versioned_notifications.info"),
    "make the event feed": lambda channel: channel.exchange_declare(event_feed.EXCHANGE, "fanout"),
}  # fmt: skip


def test_everything_works_with_an_account_for_each_role(deployment: CommandDeployment) -> None:
    """Builds, a move with messages in all directions, deletes: the broker refuses no service."""
    small = deployment.create_flavor("small", vcpus=1, ram=512, disk=2)
    uuids = [uuid for _ in range(5) for uuid in deployment.create_servers(small, 4)]
    assert_all_active(deployment, uuids)
    for action, status in (("migrate", "VERIFY_RESIZE"), ("confirmResize", "ACTIVE")):
        deployment.act(uuids[0], action)
        assert deployment.at_rest(uuids[:1])[uuids[0]]["status"] == status
    assert_nothing_is_lost(deployment, uuids)
    delete_everything(deployment)
    logs = {
        name: each.log.read_text(errors="replace") for name, each in deployment.processes.items()
    }
    assert [name for name, log in logs.items() if "ACCESS_REFUSED" in log] == []


def test_a_second_run_of_the_command_changes_nothing(deployment: CommandDeployment) -> None:
    """It says so, while all services run."""
    code, printed = deployment.command.run("single", "--root", str(deployment.command.root))
    assert code == 0
    assert "Nothing to do" in printed


@pytest.mark.parametrize("what", NOT_FOR_AN_AGENT)
def test_an_agents_account_cannot(what: str, thief: Connection) -> None:
    """The broker itself refuses it, whatever the message says."""
    assert refusal(thief, NOT_FOR_AN_AGENT[what]) == ACCESS_REFUSED


@pytest.mark.parametrize(("role", "broker"), OWN)
def test_an_account_does_nothing_with_what_is_anothers(
    role: str, broker: str, deployment: CommandDeployment,
    connections: Callable[[str], Connection],
) -> None:  # fmt: skip
    """Each role's, with each queue and exchange that there is, the broker's own ones included."""
    url = deployment.top_url if broker == TOP else deployment.cells[1].transport_url
    scope = {COMPUTE: THIEF, CELL_CONDUCTOR: deployment.cells[1].uuid}.get(role)
    account = broker_accounts.account_name(role, scope, deployment.prefix)
    thief = Thief(
        connections(deployment.url_for(url, role, broker, scope)),
        account, OWN[role, broker], scope or "",
    )  # fmt: skip
    vhost = str(make_url(url).database)
    queues, exchanges = queues_of(vhost), exchanges_of(vhost)
    assert len(queues) > 5
    assert len(exchanges) > 10
    assert thief.successes(queues, exchanges) == []


def test_each_role_is_tried_on_each_broker() -> None:
    """A new one has to be named among the attacks."""
    assert {*OWN} == {(role, broker) for role, parts in broker_accounts.TABLE.items()
                      for broker in parts}  # fmt: skip


def test_an_agents_events_are_not_among_those_that_people_follow(thief: Connection) -> None:
    """The feed is on the top broker; what an agent may write to is not there on its cell's."""
    assert refusal(thief, publish(event_feed.EXCHANGE, "")) == NOT_FOUND


def test_further_addresses_of_an_agents_message_lead_nowhere(
    deployment: CommandDeployment, thief: Connection, connections: Callable[[str], Connection]
) -> None:
    """Not every broker looks at them: at the door no other queue is bound."""
    deployment.kill(OTHER)
    everything = connections(deployment.cells[1].transport_url).channel()
    name = f"compute.{OTHER}"
    before = everything.queue_declare(name, passive=True).message_count
    sent = publish("armillary_cell_conductor", "cell_conductor", CC=[name])
    assert refusal(thief, sent) in {0, ACCESS_REFUSED}
    assert everything.queue_declare(name, passive=True).message_count == before
    deployment.start(OTHER)
    wait_for(lambda: deployment.up_hosts() >= 17, "the other agent's hosts are up", 60)


BOMB_BYTES = 512 * 1024**2
TAKEN_KIB_MAX = 128 * 1024
CPU_SECONDS_MAX = 10.0
HARMFUL: dict[str, Callable[[], amqp.Message]] = {
    "a compressed one": lambda: amqp.Message(
        zlib.compress(bytes(BOMB_BYTES)), content_type="application/json",
        content_encoding="utf-8", application_headers={"compression": "application/x-gzip"},
    ),
    "one in a codec that decompresses": lambda: amqp.Message(
        zlib.compress(bytes(BOMB_BYTES)), content_type="text/x-any", content_encoding="zlib"
    ),
    "one in a codec that takes minutes": lambda: amqp.Message(
        b"-" + b"a" * 1_000_000, content_type="application/json", content_encoding="punycode"
    ),
    "one of many values": lambda: amqp.Message(
        b"[" + b"{}," * 8_000_000 + b"{}]", content_type="application/json",
        content_encoding="utf-8",
    ),
}  # fmt: skip
"""Messages that libraries open before their signature is looked at; they become larger."""


def taken(deployment: CommandDeployment, name: str) -> tuple[int, float]:
    """Return the most memory that a service's worker has had, in KiB, and its seconds of CPU."""
    running = deployment.processes[name].running
    assert running is not None
    worker = next(
        each.parent
        for each in Path("/proc").glob("[0-9]*/stat")
        if each.read_text().rpartition(")")[2].split()[1] == str(running.pid)
    )
    peak = (worker / "status").read_text().partition("VmHWM:")[2].split()[0]
    ticks = (worker / "stat").read_text().rpartition(")")[2].split()[11:13]
    return int(peak), sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("what", HARMFUL)
def test_a_message_of_an_agents_account_takes_neither_memory_nor_time(
    what: str, deployment: CommandDeployment, thief: Connection
) -> None:
    """The conductor of its cell answers messages that come after it."""
    small = deployment.create_flavor(f"after {what}", vcpus=1, ram=512, disk=2)
    kib, cpu_seconds = taken(deployment, "cell2-conductor")
    message, channel = HARMFUL[what](), thief.channel()
    for _ in range(3):
        channel.basic_publish(message, "armillary_cell_conductor", "cell_conductor")
    uuids = deployment.create_servers(small, 8)
    assert_all_active(deployment, uuids)
    delete_everything(deployment)
    kib_after, cpu_seconds_after = taken(deployment, "cell2-conductor")
    assert kib_after < kib + TAKEN_KIB_MAX
    assert cpu_seconds_after < cpu_seconds + CPU_SECONDS_MAX


def test_no_other_account_reads_the_queue_of_answers_to_a_process(
    deployment: CommandDeployment, thief: Connection, connections: Callable[[str], Connection]
) -> None:
    """Not another agent, and not even another process by the same account."""
    account = f"{deployment.prefix}compute-{OTHER}"
    name = topics.reply_queue(account, "host:process", "0" * 32)
    url = deployment.url_for(deployment.cells[1].transport_url, "compute", "cell", OTHER)
    connections(url).channel().queue_declare(name, exclusive=True)
    assert refusal(thief, consume(name)) in {ACCESS_REFUSED, RESOURCE_LOCKED}
    assert refusal(connections(url), consume(name)) == RESOURCE_LOCKED


def test_an_agents_account_is_none_on_the_top_broker(deployment: CommandDeployment) -> None:
    """It is not let in at all."""
    url = deployment.url_for(deployment.cells[1].transport_url, "compute", "cell", THIEF)
    vhost = deployment.top_url.rpartition("/")[2]
    top = url.rpartition("/")[0].replace("rabbit://", "amqp://") + f"/{vhost}"
    with Connection(top) as connection, pytest.raises(amqp.exceptions.NotAllowed):
        connection.connect()


def test_an_agent_waits_for_its_conductor_to_make_what_it_needs(
    deployment: CommandDeployment, tmp_path: Path
) -> None:
    """On a broker that is still empty; then it serves, and is answered."""
    with ExitStack() as lent:
        url = lent.enter_context(fresh_vhost())

        def make_bus(role: str, scope: str) -> Bus:
            account = deployment.url_for(url, role, "cell", scope)
            bus = Bus(messaging_conf(), account, process_name=role, lock_directory=tmp_path)
            lent.callback(bus.close)
            return bus

        agent = make_bus("compute", "host1").server(part_of(ComputeAPI), "host1", [])
        starting = threading.Thread(target=agent.start)
        starting.start()
        starting.join(2)
        assert starting.is_alive()
        bus = make_bus("cell-conductor", "c1")
        conductor = bus.server(part_of(CellConductorAPI), "c1", [])
        conductor.start()
        starting.join(waiting.seconds(30))
        assert not starting.is_alive()
        ComputeAPI(bus, timeout_seconds=30).ping(admin_context(), server="host1")
        for server in (agent, conductor):
            server.stop()
            server.wait()


class _Parent:
    def __init__(self) -> None:
        self.heard: queue.Queue[str] = queue.Queue()

    def update_summary(self, context: Any, summary: str) -> None:
        self.heard.put(summary)


def test_a_parent_zones_account_asks_and_hears(
    deployment: CommandDeployment, tmp_path: Path
) -> None:
    """On the child's broker, where the child's conductors serve it."""
    with ExitStack() as lent:
        url = lent.enter_context(fresh_vhost())

        def make_bus(role: str) -> Bus:
            account = deployment.url_for(url, role, "top")
            bus = Bus(messaging_conf(), account, process_name=role, lock_directory=tmp_path)
            lent.callback(bus.close)
            return bus

        def serve(bus: Bus, interface: type[Interface], *endpoints: Any) -> None:
            server = bus.server(part_of(interface, *endpoints), "one", endpoints)
            server.start()
            lent.callback(server.wait)
            lent.callback(server.stop)

        child, parent, endpoint = make_bus("conductor"), make_bus("parent-zone"), _Parent()
        with pytest.raises(exception.RpcUnavailable):  # immediately: nothing is there yet
            ZoneAPI(parent, timeout_seconds=30).ping(admin_context())
        serve(child, ZoneAPI)
        serve(parent, ZoneSummariesAPI, endpoint)
        ZoneAPI(parent, timeout_seconds=30).ping(admin_context())
        summary: Any = "all is well"
        ZoneSummariesAPI(child).update_summary(admin_context(), summary)
        assert endpoint.heard.get(timeout=waiting.seconds(30)) == "all is well"


NOT_FOR_A_PARENT = {
    "ask the conductor": publish("armillary", "conductor"),
    "ask placement": publish("armillary", "placement"),
    "tell the schedulers": publish("scheduler_fanout", ""),
    "push a summary": publish("zone_summaries_fanout", ""),
    "read the zone's own questions": consume("zone"),
    "read the conductor's queue": consume("conductor"),
    "put a message into a queue by its name": publish("", "conductor"),
    "delete the summaries": delete("zone_summaries_fanout"),
    "send a notification": publish("armillary", "versioned_notifications.info"),
    "tell those who follow events something": publish(event_feed.EXCHANGE, ""),
    "follow the events": bind("any", event_feed.EXCHANGE, ""),
}


@pytest.mark.parametrize("what", NOT_FOR_A_PARENT)
def test_a_parent_zones_account_cannot(
    what: str, deployment: CommandDeployment, connections: Callable[[str], Connection]
) -> None:
    """It asks the zone, hears summaries, and gets its answers; nothing else."""
    parent = connections(deployment.url_for(deployment.top_url, "parent-zone", "top"))
    assert refusal(parent, NOT_FOR_A_PARENT[what]) == ACCESS_REFUSED


def test_the_monitors_account_reads_and_writes_nothing(
    deployment: CommandDeployment, connections: Callable[[str], Connection]
) -> None:
    """What it sees of the broker it sees by its tag, through the management plug-in."""
    monitor = connections(deployment.url_for(deployment.top_url, "monitor", "top"))
    for attempt in (consume("conductor"), publish("armillary", "conductor"), declare("any")):
        assert refusal(monitor, attempt) == ACCESS_REFUSED
    assert RABBITMQ.is_ours
