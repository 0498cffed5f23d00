"""A whole deployment that requires signatures; and what stolen keys are good for there."""

import contextlib
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor

import kombu
import oslo_messaging
import pytest

from armillary import exception
from armillary.context import admin_context
from armillary.logs import line_budget
from conductor.cell_conductor.interface import CellConductorAPI
from objects.allocations.allocation import ClaimStatus
from placement.interface import PlacementAPI
from rpc.broker.topics import direct_exchange, fanout
from rpc.queue_types import CONTROL_EXCHANGE
from rpc.signing import enrolment, keys
from rpc.signing.place import TOP
from rpc.signing.push import CELL_TOPICS, TOP_TOPICS, TrustPush
from rpc.signing.trust import AGENTS, SERVICES
from rpc.transport import Bus
from tests.builders import a_claim, a_provider, a_uuid
from tests.fixtures.asking import wait_for
from tests.fixtures.cell import a_node
from tests.fixtures.checks.ledger import (
    assert_all_active,
    assert_nothing_is_lost,
    delete_everything,
)
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.deployment import error_lines, two_cells
from tests.fixtures.messages.interfaces import BY_TOPIC, Anything
from tests.fixtures.services import POSTGRESQL
from tests.fixtures.services.brokers import close_connections
from tests.fixtures.signing.forged_replies import ReplyForger, failure_of
from tests.fixtures.waiting import seconds
from tests.integration.trust.signed_deployment import SignedDeployment

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.sampled_file(every=3)]

THIEF = "cell2-agent-1"
CONTEXT = admin_context()
CONCURRENT_CALLS_MAX = 8
REVOKED_SECONDS_MAX = 10.0
"""Two pushes, each after a look a second; the rest is for a busy machine."""


HEARS_AGENTS = {"cell_conductor", "conductor", "host_states"}
SERVED_BY = {
    "api": "api",
    "cell_conductor": "cell2-conductor",
    "compute": "cell2-agent-2",
    "conductor": "super",
    "host_states": "cell2-conductor",
    "placement": "placement",
    "scheduler": "scheduler-1",
}
"""Who is tried."""
BETWEEN_ZONES = {"zone", "zone_summaries"}
"""Topics that only zones of a tree serve: see ``test_signed_zones``."""


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signed")
    with two_cells(folder, POSTGRESQL, kind=SignedDeployment) as running:
        yield running


@pytest.fixture(scope="module")
def small(deployment):
    return deployment.create_flavor("small", vcpus=1, ram=512, disk=2)


@pytest.fixture
def stolen(deployment, tmp_path):
    """Lend a way to make a bus on a broker that signs with an agent's key, or another."""
    buses = []

    def make(url, scope=TOP, *, name=THIEF):
        signer = deployment.authority.signer(name, nonces="stolen-nonces")
        buses.append(
            Bus(messaging_conf(), url, message_signer=signer, lock_directory=tmp_path, scope=scope)
        )
        return buses[-1]

    yield make
    for bus in buses:
        bus.close()


def test_everything_works_when_signatures_are_required(deployment, small):
    """Builds, a move with its messages in all directions, deletes: no message is refused."""
    uuids = [uuid for _ in range(5) for uuid in deployment.create_servers(small, 4)]
    assert_all_active(deployment, uuids)
    for action, status in (("migrate", "VERIFY_RESIZE"), ("confirmResize", "ACTIVE")):
        deployment.act(uuids[0], action)
        assert deployment.at_rest(uuids[:1])[uuids[0]]["status"] == status
    assert_nothing_is_lost(deployment, uuids)
    delete_everything(deployment)
    assert deployment.refusals() == []


class Recorder:
    """An attacker with an account who binds a queue of its own to a cell's exchanges."""

    EXCHANGES: tuple[str, ...] = (
        CONTROL_EXCHANGE,
        direct_exchange(CONTROL_EXCHANGE, "cell_conductor"),
    )

    def __init__(self, url):
        self._connection = kombu.Connection(url.replace("rabbit://", "amqp://"))
        self._queue = self._connection.channel().queue_declare(exclusive=True).queue
        for exchange in self.EXCHANGES:
            self._connection.default_channel.queue_bind(self._queue, exchange, "#")

    def signed(self):
        """Return the routing key and the signed parts of each message so far."""
        channel, found = self._connection.default_channel, []
        while (message := channel.basic_get(self._queue, no_ack=True)) is not None:
            plain = json.loads(json.loads(message.body)["oslo.message"])
            parts = {name: plain[name] for name in ("text", "signature", "key")}
            found.append((message.delivery_info["routing_key"], parts))
        return found

    def close(self):
        self._connection.release()


class FanoutRecorder(Recorder):
    """One who records what goes to all schedulers, and can send it again."""

    EXCHANGES = (fanout("scheduler"),)

    def recorded(self):
        """Return the messages since the last time."""
        channel, found = self._connection.default_channel, []
        while (message := channel.basic_get(self._queue, no_ack=True)) is not None:
            found.append(message)
        return found

    def send_again(self, message):
        headers = message.properties["application_headers"]
        again = self._connection.default_channel.prepare_message(
            message.body, content_type="application/json", content_encoding="utf-8", headers=headers
        )
        self._connection.default_channel.basic_publish(again, *self.EXCHANGES)


LIES = {
    "placement": exception.CapacityExceeded(reason="a lie"),
    "scheduler": exception.NoValidHost(reason="a lie"),
    "conductor": exception.Forbidden(reason="a lie"),
    "cell_conductor": exception.CellNotFound(cell="a lie"),
}


def test_an_account_without_a_key_answers_nothing(deployment, small, tmp_path):
    """It takes calls to every service off the queues and answers each with a failure first.

    Nothing comes of it: servers are built and deleted as if it were not there.
    """
    with contextlib.ExitStack() as attack:
        forgers = {}
        for topic, lie in LIES.items():
            url, _scope = broker_of(deployment, topic)
            bus = Bus(messaging_conf(), url, lock_directory=tmp_path)
            attack.callback(bus.close)
            failure = failure_of(lie)
            forgers[topic] = attack.enter_context(
                ReplyForger(
                    bus, topic, "forger", lambda _request, lie=failure: [{"failure": lie}],
                    passes_on=True,
                )
            )  # fmt: skip
        uuids = deployment.create_servers(small, 4)
        assert_all_active(deployment, uuids)
        assert_nothing_is_lost(deployment, uuids)
        delete_everything(deployment)
        assert {topic for topic in LIES if forgers[topic].count > 0} == set(LIES)


def test_a_stolen_agents_key_opens_nothing_but_itself(deployment, stolen):
    """Every method of every service is tried with it, in the name of another agent: all refused.

    Who hears agents knows the key, and forbids it; the others do not even know it, and drop what it
    signed without an answer.
    """
    for topic in SERVED_BY:
        methods = BY_TOPIC[topic].METHODS
        tried = sorted(set(methods) - {"object_backport_versions"})  # reads what it is sent, only
        assert tried or topic == "api"
        is_known = topic in HEARS_AGENTS
        bus = stolen(*broker_of(deployment, topic))
        api = Anything(bus, BY_TOPIC[topic], timeout_seconds=10 if is_known else seconds(0.2))
        before = len(deployment.refusals(SERVED_BY[topic]))
        logged = min(len(tried), line_budget.AT_ONCE_MAX)
        refusal = exception.Forbidden if is_known else exception.RpcTimeout
        with ThreadPoolExecutor(CONCURRENT_CALLS_MAX) as calls:
            outcomes = [
                calls.submit(api.call, method, server_of(deployment, topic), agent="cell2-agent-2")
                for method in tried
            ]
        raised = {
            method: type(outcome.exception())
            for method, outcome in zip(tried, outcomes, strict=True)
        }
        assert raised == dict.fromkeys(tried, refusal)
        wait_for(
            lambda: len(deployment.refusals(SERVED_BY[topic])) >= before + logged,  # noqa: B023
            f"messages to {topic} are refused", 10,
        )  # fmt: skip


def test_a_stolen_agents_key_fills_no_log_by_what_no_database_stores(deployment, small, stolen):
    """Numbers beyond its columns and odd text are invalid, or replaced where people read it."""
    conductor, cell = deployment.processes["cell2-conductor"], deployment.cells[1]
    api = CellConductorAPI(stolen(cell.transport_url, cell.uuid))
    uuids = deployment.create_servers(small, 8)
    assert_all_active(deployment, uuids)
    uuid, host = next(
        (each["id"], each["OS-EXT-SRV-ATTR:host"])
        for each in deployment.servers()
        if each["OS-EXT-SRV-ATTR:host"].startswith("cell2-a")
    )
    for number in (2**40, -(2**40)):
        with pytest.raises(exception.Invalid):
            api.instance_ended(CONTEXT, THIEF, host, uuid, 1, exit_code=number)
    odd = "odd\0 text \ud800" + "x" * 20_000
    told = api.power_changed(CONTEXT, THIEF, host, uuid, 1, power_state="paused", reason=odd)
    assert told == "accepted"
    assert error_lines(conductor.log) == []
    delete_everything(deployment)


def test_what_one_cell_was_sent_is_refused_in_another(deployment, small, tmp_path):
    """All messages on a cell's broker, recorded and put into the same queues of the other's.

    Neither its conductor nor its agent acts on them, and every server keeps what it holds.
    """
    source, target = deployment.cells
    with contextlib.closing(Recorder(source.transport_url)) as recorder:
        uuids = deployment.create_servers(small, 8)
        assert_all_active(deployment, uuids)
        recorded = recorder.signed()
    texts = " ".join(parts["text"] for _key, parts in recorded)
    assert {"build_instances", "builds_succeeded"} <= set(re.findall(r"\w+", texts))
    before = {name: len(deployment.refusals(name)) for name in ("cell2-conductor", THIEF)}
    sent = dict.fromkeys(before, 0)
    with contextlib.closing(
        Bus(messaging_conf(), target.transport_url, lock_directory=tmp_path)
    ) as bus:
        for routing_key, parts in recorded:
            is_command = routing_key.startswith("compute.")
            topic, server = ("compute", THIEF) if is_command else ("cell_conductor", None)
            bus.transport._send(oslo_messaging.Target(topic=topic, server=server), {}, parts)
            sent[THIEF if is_command else "cell2-conductor"] += 1
    assert all(sent.values())
    for name, count in sent.items():
        wait_for(
            lambda: len(deployment.refusals(name)) == before[name] + count,  # noqa: B023
            f"{name} refuses every message", 30,
        )  # fmt: skip
    assert_all_active(deployment, uuids)
    delete_everything(deployment)


def test_a_replay_is_an_alarm_and_a_lost_connection_is_none(deployment):
    """The broker sends again what went to all just before; what an attacker sends is refused."""
    schedulers = ["scheduler-1", "scheduler-2"]
    before = {name: len(deployment.refusals(name)) for name in schedulers}
    with contextlib.closing(FanoutRecorder(deployment.top_url)) as recorder:
        recorded = wait_for(recorder.recorded, "a cell pushes", 30)
    logs = {name: deployment.processes[name].log for name in schedulers}
    lengths = {name: len(log.read_text()) for name, log in logs.items()}

    def said(name):
        return logs[name].read_text()[lengths[name] :]

    close_connections(deployment.virtual_hosts()[0])
    for name in schedulers:
        wait_for(lambda: "scheduler_fanout after" in said(name), f"{name} is back", 60)  # noqa: B023
    with contextlib.closing(FanoutRecorder(deployment.top_url)) as recorder:
        wait_for(recorder.recorded, "a cell pushes again, after all that is repeated", 60)
        for message in recorded:
            recorder.send_again(message)
    for name in schedulers:
        wait_for(
            lambda: len(deployment.refusals(name)) == before[name] + len(recorded),  # noqa: B023
            f"{name} refuses what was sent again, and nothing else", 30,
        )  # fmt: skip
        assert deployment.refusals(name)[-1].count("(replayed)") == 1
        assert "duplicate" not in said(name)


def test_a_stolen_agents_key_takes_over_no_host_of_a_silent_agent(deployment, stolen):
    """It gets neither its hosts, nor one that it makes up, nor what runs there."""
    cell, victims = deployment.cells[1], ["cell2-b1", "cell2-b2"]
    api = CellConductorAPI(stolen(cell.transport_url, cell.uuid), timeout_seconds=10)
    deployment.kill("cell2-agent-2")
    wait_for(
        lambda: not any(host.startswith("cell2-b") for host in deployment.hosts_up()),
        "the victim's hosts are down", 60,
    )  # fmt: skip
    for host in (*victims, "made-up"):
        with pytest.raises(exception.HostsNotApproved, match=host):
            api.report_services(CONTEXT, THIEF, ["cell2-a1", host], {}, service_version=1)
        (result,) = api.report_compute_nodes(CONTEXT, THIEF, [a_node(host, uuid=a_uuid())])
        assert result.error
    with pytest.raises(exception.Conflict, match="belongs to agent cell2-agent-2"):
        api.list_host_instances(CONTEXT, THIEF, victims)
    assert api.list_host_instances(CONTEXT, THIEF, ["made-up"]) == []
    deployment.start("cell2-agent-2")
    wait_for(lambda: set(victims) <= set(deployment.hosts_up()), "its hosts are its own", 60)
    assert "made-up" not in deployment.hosts_up()


def test_a_stolen_cell_key_changes_nothing_of_another_cell(deployment, small, stolen):
    """Its providers, traits, allocations and fences; and the cell goes on as if nothing was."""
    uuids = deployment.create_servers(small, 8)
    assert_all_active(deployment, uuids)
    trusted = placement_of(deployment, stolen, "super")
    thief = placement_of(deployment, stolen, "cell2-conductor")
    before = trusted.get_allocations(CONTEXT, uuids)
    hosts = {
        one["id"]: one["hypervisor_hostname"]
        for one in deployment.get("/os-hypervisors")["hypervisors"]
    }
    consumer, theirs = next(
        (uuid, provider)
        for uuid, held in before.items()
        for provider in held
        if hosts[provider].startswith("cell1-")
    )
    own = next(uuid for uuid, host in hosts.items() if host.startswith("cell2-"))
    refused = len(deployment.refusals("placement"))
    (result,) = thief.set_providers(CONTEXT, [a_provider(hosts[theirs], uuid=theirs)])
    assert "belongs to another cell" in result.error
    for uuid in (own, theirs):
        claimed = a_claim(uuid, consumer_uuid=consumer, fence=2**61, replace=True)
        assert thief.claim(CONTEXT, [claimed])[0].status == ClaimStatus.FOREIGN
    attacks = [
        lambda: thief.set_trait(CONTEXT, theirs, "COMPUTE_STATUS_DISABLED", present=True),
        lambda: thief.delete_provider(CONTEXT, theirs),
        lambda: thief.release(CONTEXT, {consumer: 2**61}),
        lambda: thief.release_unchanged(CONTEXT, {consumer: 1}),
        lambda: thief.move_allocations(CONTEXT, consumer, a_uuid(), fence=2**61),
    ]
    for attack in attacks:
        with pytest.raises(exception.NotItsOwn):
            attack()
    assert trusted.get_allocations(CONTEXT, uuids) == before
    assert len(deployment.refusals("placement")) == refused + len(attacks) + 3
    assert_nothing_is_lost(deployment, uuids)
    delete_everything(deployment)


def placement_of(deployment, stolen, name):
    return PlacementAPI(stolen(deployment.top_url, name=name), timeout_seconds=10)


def server_of(deployment, topic):
    """Return the one server that is tried, of topics that have several on that broker."""
    named = {"compute": "cell2-agent-2", "scheduler": "scheduler-1"}
    return deployment.cells[1].uuid if topic == "host_states" else named.get(topic)


def broker_of(deployment, topic):
    """Return the broker that a topic is on, and its scope; the thief is in the second cell."""
    if topic not in {"cell_conductor", "compute"}:
        return deployment.top_url, TOP
    cell = deployment.cells[1]
    return cell.transport_url, cell.uuid


def test_every_topic_is_tried():
    """A new one has to be named here."""
    assert {*SERVED_BY, *BETWEEN_ZONES} == set(BY_TOPIC)


def publish(deployment):
    """Bring the changed lists to the super conductor, as an operator does; nowhere else."""
    for kind in (SERVICES, AGENTS):
        at_super = deployment.trust_path("super", kind)
        beside = at_super.with_suffix(".new")
        beside.write_text(deployment.authority.path(kind).read_text())
        beside.replace(at_super)


def has_heard(deployment, name, kind):
    """Return whether a process has the list, which it writes to its file."""
    serial = deployment.authority.lists[kind].serial
    return f'\\"serial\\": {serial}}}' in deployment.trust_path(name, kind).read_text()


def wait_until_pushed(deployment):
    for name in deployment.processes:
        wait_for(lambda: has_heard(deployment, name, SERVICES), f"{name} has it", 15)  # noqa: B023


def test_every_key_is_replaced_without_a_stop(deployment, small):
    """New keys beside the old ones, then in their place, then without them; servers are built on.

    No process is restarted, and no message is refused.
    """
    authority = deployment.authority
    refused = len(deployment.refusals())
    new = {name: keys.create(authority.directory / f"{name}.new") for name in deployment.processes}
    change_all(
        authority,
        lambda current, name: enrolment.rotated(
            current, name, new[name].public, now=time.time(), overlap_seconds=3600
        ),
    )
    publish(deployment)
    wait_until_pushed(deployment)
    for name in new:
        (authority.directory / f"{name}.new").replace(authority.key_path(name))
    first = deployment.create_servers(small, 4)
    assert_all_active(deployment, first)
    change_all(
        authority,
        lambda current, name: enrolment.revoked(current, name, authority.private[name].key_id),
    )
    authority.private.update(new)
    publish(deployment)
    wait_until_pushed(deployment)
    second = deployment.create_servers(small, 4)
    assert_all_active(deployment, [*first, *second])
    assert len(deployment.refusals()) == refused
    delete_everything(deployment)


def test_a_stolen_key_of_any_process_is_replaced_immediately(deployment, small):
    """As the page on stolen keys says: the former one does not count for a moment longer.

    So the first message of a process with its new key is from a stranger, also that of the super
    conductor which brings the list that names it.
    """
    authority = deployment.authority
    for name, process in deployment.processes.items():
        new = keys.create(authority.directory / f"{name}.new")
        kind = next(kind for kind, each in authority.lists.items() if name in each.identities)
        changed = enrolment.rotated(
            authority.lists[kind], name, new.public, now=time.time(), overlap_seconds=0
        )
        authority.change(kind, changed)
        publish(deployment)
        (authority.directory / f"{name}.new").replace(authority.key_path(name))
        authority.private[name] = new
        for other in deployment.processes if kind == SERVICES else ("super", "cell1-conductor"):
            wait_for(lambda: has_heard(deployment, other, kind), f"{other} knows {name}", 15)  # noqa: B023
        assert process.is_alive()
    assert_all_active(deployment, deployment.create_servers(small, 4))
    delete_everything(deployment)


def change_all(authority, change):
    for kind, current in authority.lists.items():
        for name in current.identities:
            authority.lists[kind] = change(authority.lists[kind], name)
    authority.publish()


def restart_one_by_one(deployment, small, old, new):
    """Put other root keys into every configuration; restart, and build servers between."""
    built = []
    for name, process in deployment.processes.items():
        path = deployment.folder / f"{name}.conf"
        path.write_text(path.read_text().replace(f"root_keys = {old}\n", f"root_keys = {new}\n"))
        process.stop()
        process.start()
        deployment.wait_until_ready()
        built += deployment.create_servers(small, 2)
    assert_all_active(deployment, built)


@pytest.mark.long
def test_the_root_key_is_replaced_without_a_stop(deployment, small):
    """Both count for a while: processes restart one by one, and no message is refused."""
    authority = deployment.authority
    refused = len(deployment.refusals())
    old, authority.root = authority.root, keys.create(authority.directory / "new-root.key")
    both = f"{old.public.text}, {authority.root.public.text}"
    restart_one_by_one(deployment, small, old.public.text, both)
    for kind in (SERVICES, AGENTS):
        signed = (
            "--list",
            authority.path(kind),
            "--root-key",
            authority.directory / "new-root.key",
        )
        deployment.manage(
            [("super", "key", "sign", *map(str, signed), "--former", old.public.text)]
        )
        authority.lists[kind] = enrolment.read(authority.path(kind), kind, authority.root)
    publish(deployment)
    wait_until_pushed(deployment)
    restart_one_by_one(deployment, small, both, authority.root.public.text)
    (authority.directory / "new-root.key").replace(authority.directory / "root.key")
    assert len(deployment.refusals()) == refused
    delete_everything(deployment)


def test_a_revoked_key_is_refused_by_every_process_within_seconds(deployment, stolen):
    """Measured from the change of the super conductor's file; the period of pushes is an hour."""
    authority = deployment.authority
    authority.enrol("operator", name="lost")
    publish(deployment)
    wait_until_pushed(deployment)
    files = ("--list", str(authority.path()), "--root-key", str(authority.directory / "root.key"))
    deployment.manage([("super", "key", "revoke", "lost", *files)])
    authority.lists[SERVICES] = enrolment.read(authority.path(), SERVICES, authority.root)
    pushes = [TrustPush(stolen(deployment.top_url, name="lost"), TOP_TOPICS, period_seconds=0)]
    for cell in deployment.cells:
        bus = stolen(cell.transport_url, cell.uuid, name="lost")
        pushes.append(TrustPush(bus, CELL_TOPICS, period_seconds=0))
    publish(deployment)

    def refuse_it():
        for push in pushes:
            push.push()  # to every process: a fanout of what is harmless
        return all(
            any("unknown_key" in line for line in deployment.refusals(name))
            for name in deployment.processes
        )

    wait_for(refuse_it, "every process refuses the key", REVOKED_SECONDS_MAX)


def test_a_revoked_agent_is_not_heard_any_more(deployment):
    """After one push: its reports are refused, so that its hosts are down; the others' are not."""
    agents = deployment.authority.lists[AGENTS]
    deployment.authority.change(AGENTS, agents.changed({THIEF: None}))
    publish(deployment)
    wait_for(
        lambda: any("unknown_key" in line for line in deployment.refusals("cell2-conductor")),
        "the cell's conductor refuses the agent",
        30,
    )
    wait_for(
        lambda: not any(host.startswith("cell2-a") for host in deployment.hosts_up()),
        "the agent's hosts are down",
        60,
    )
    assert any(host.startswith("cell2-b") for host in deployment.hosts_up())
