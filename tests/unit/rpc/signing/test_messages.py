"""Signed messages over the embedded broker: accepted and refused keys, and authority."""

from __future__ import annotations

import json
import threading
import time
import uuid

import oslo_messaging
import prometheus_client
import pytest

from armillary import exception
from armillary.audit import AuditTrail
from armillary.context import admin_context
from rpc.callers import AGENT_ITSELF, CELL_HERE, CONDUCTOR, SCHEDULER
from rpc.interface import Interface, call, cast, fanout
from rpc.signing import envelope, keys, refusal_log
from rpc.signing.envelope import Refused
from rpc.signing.place import TOP, Place, zone_scope
from rpc.signing.push import TrustPush
from rpc.signing.trust import AGENTS, SERVICES
from rpc.transport import Bus
from tests.fixtures.asking import wait_for
from tests.fixtures.checks.audit_log import events_of
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.signing import AT_THE_TOP, AUDIT_LOG, SCOPES, Authority
from tests.fixtures.waiting import Deadline, seconds

CELL = SCOPES["cell_conductor"]
OTHER_CELL = "5f3a4b1e-0000-4000-8000-000000000002"


class Ledger:
    """An endpoint under the names of placement's and the cell conductor's methods."""

    def __init__(self):
        self.heard = []
        self.changed = threading.Condition()

    def claim(self, context, claims):
        with self.changed:
            self.heard.append((claims, context.request_id))
            self.changed.notify_all()
        if claims == "too much":
            raise exception.CapacityExceeded(reason="nothing is left")
        if claims == "another's":
            raise exception.NotItsOwn("it belongs to another")
        return f"claimed {claims}"

    def claim_everywhere(self, context, claims):
        self.claim(context, claims)

    def build_failed(self, context, agent, host):
        self.heard.append(agent)
        return "noted"

    def claims(self):
        return [claims for claims, _request_id in self.heard]

    def wait_for(self, claims):
        with self.changed:
            assert self.changed.wait_for(lambda: claims in self.claims(), 10)


class LedgerAPI(Interface):
    TOPIC = "placement"
    SERVED_BY = "placement"

    @call(SCHEDULER, CONDUCTOR)
    def claim(self, context, claims): ...

    @fanout(SCHEDULER)
    def claim_everywhere(self, context, claims): ...


class LedgerOfAPI(Interface):
    """The same, by name."""

    TOPIC = "placement"
    SERVED_BY = "placement"
    ADDRESSED_BY = "server"

    @cast(SCHEDULER)
    def claim(self, context, server, claims): ...


class CellAPI(Interface):
    TOPIC = "cell_conductor"
    SERVED_BY = "cell_conductor"

    @call(AGENT_ITSELF)
    def build_failed(self, context, agent, host): ...


class AgentAPI(Interface):
    TOPIC = "compute"
    SERVED_BY = "compute"
    ADDRESSED_BY = "agent"

    @call(CELL_HERE)
    def claim(self, context, agent, claims): ...


class HostStatesAPI(Interface):
    TOPIC = "host_states"
    SERVED_BY = "cell_conductor"


class PlacementAPI:
    """A client in fewer words."""

    def __init__(self, bus, **options):
        self._api = LedgerAPI(bus, **options)
        self._by_name = LedgerOfAPI(bus, **options)

    def claim(self, claims):
        return self._api.claim(admin_context(), claims)

    def claim_everywhere(self, claims):
        self._api.claim_everywhere(admin_context(), claims)

    def claim_at(self, server, claims):
        self._by_name.claim(admin_context(), server, claims)


@pytest.fixture
def authority(tmp_path):
    made = Authority(tmp_path / "authority")
    for role in ("placement", "scheduler", "conductor", "cell_conductor", "compute"):
        made.enrol(role)
    return made


@pytest.fixture
def url():
    return f"kombu+memory:////{uuid.uuid4()}"


@pytest.fixture
def make_bus(url):
    buses = []

    def make(signer=None, scope=TOP):
        buses.append(Bus(messaging_conf(), url, message_signer=signer, scope=scope))
        return buses[-1]

    yield make
    for bus in buses:
        bus.close()


@pytest.fixture
def serve(make_bus):
    servers = []

    def start(signer=None, *, interface=LedgerAPI, name="one", scope=TOP):
        endpoint = Ledger()
        server = make_bus(signer, scope).server(interface, name, [endpoint])
        server.start()
        servers.append(server)
        return endpoint

    yield start
    for server in servers:
        server.stop()
        server.wait()


def refused(topic, reason):
    """Return how often this process refused a message for this reason."""
    labels = {"topic": topic, "reason": reason}
    found = prometheus_client.REGISTRY.get_sample_value("armillary_rpc_refused_total", labels)
    return found or 0.0


def wait_for_refusals(topic, reason, expected):
    """Wait for the count: messages are handled side by side, so the last may overtake."""
    deadline = Deadline(10)
    while refused(topic, reason) < expected and not deadline.has_passed:
        time.sleep(0.005)
    assert refused(topic, reason) == expected


def wait_for_events(authority, count):
    """Return the audit log's events once there are as many, or more."""
    path = authority.directory / AUDIT_LOG
    deadline = Deadline(10)
    while not deadline.has_passed and (not path.exists() or path.read_text().count("\n") < count):
        time.sleep(0.005)
    return events_of(path)


def send_raw(bus, signed, *, server=None, topic="placement"):
    """Put a message on the wire as it is, as any client with an account on the broker can."""
    target = oslo_messaging.Target(topic=topic, server=server, version="1.0")
    bus.transport._send(target, {}, signed)


def signed_claim(
    signer, claims="forged", *, topic="placement", server=None, fanout=None, place=AT_THE_TOP
):
    target = oslo_messaging.Target(topic=topic, server=server, fanout=fanout)
    message = {"method": "claim", "args": {"claims": claims}, "version": "1.0"}
    return signer.request(place, target, admin_context().to_dict(), message)[0]


def test_a_signed_call_is_answered(authority, serve, make_bus):
    """The arguments, the caller's context and the answer all arrive."""
    endpoint = serve(authority.signer("placement"))
    api = PlacementAPI(make_bus(authority.signer("scheduler")), timeout_seconds=10)
    assert api.claim("two") == "claimed two"
    assert endpoint.heard[0][1].startswith("req-")


def test_an_error_keeps_its_class_and_its_facts(authority, serve, make_bus):
    serve(authority.signer("placement"))
    api = PlacementAPI(make_bus(authority.signer("scheduler")), timeout_seconds=10)
    with pytest.raises(exception.CapacityExceeded, match="nothing is left") as caught:
        api.claim("too much")
    assert caught.value.kwargs == {"reason": "nothing is left"}


def test_casts_and_fanouts_reach_each_server(authority, serve, make_bus):
    """A fanout is one message for all: none of them takes it for a repetition."""
    signer = authority.signer("placement")
    endpoints = [
        serve(signer),
        serve(signer, name="two"),
        serve(authority.signer("placement"), name="3"),
    ]
    api = PlacementAPI(make_bus(authority.signer("scheduler")))
    api.claim_everywhere("to all")
    for endpoint in endpoints:
        endpoint.wait_for("to all")
    api.claim_at("two", "to two")
    endpoints[1].wait_for("to two")


SIDES = ("off", "accept", "required")
WORKS = {(caller, server): "ok" for caller in SIDES for server in SIDES} | {
    ("off", "required"): exception.RpcTimeout,
    ("required", "off"): exception.RpcAnswerRefused,
}


@pytest.mark.parametrize(("caller", "server"), WORKS)
def test_modes_mix(authority, serve, make_bus, caller, server):
    """With ``accept`` on either side everybody understands everybody, so that upgrades can roll."""

    def signer(name, mode):
        return None if mode == "off" else authority.signer(name, is_required=mode == "required")

    serve(signer("placement", server))
    timeout = 10 if WORKS[caller, server] == "ok" else 1
    api = PlacementAPI(make_bus(signer("scheduler", caller)), timeout_seconds=timeout)
    if WORKS[caller, server] == "ok":
        assert api.claim("x") == "claimed x"
    else:
        with pytest.raises(WORKS[caller, server]):
            api.claim("x")


def flip(text, key):
    """Return a signed message with one character of one part changed."""
    part = text[key]
    at = len(part) // 2
    return {**text, key: part[:at] + ("A" if part[at] != "A" else "B") + part[at + 1 :]}


FORGERIES = {
    "a changed text": (lambda good, _: flip(good, "text"), "bad_signature"),
    "a changed signature": (lambda good, _: flip(good, "signature"), "bad_signature"),
    "another's key id": (lambda good, other: {**good, "key": other.key_id}, "bad_signature"),
    "an unknown key": (lambda good, _: {**good, "key": "0" * 16}, "unknown_key"),
    "no signature": (lambda good, _: {**good, "signature": ""}, "bad_signature"),
    "no base64": (lambda good, _: {**good, "signature": "é"}, "malformed"),
    "no text": (lambda good, _: {**good, "text": 7}, "malformed"),
    "half a character": (lambda good, _: {**good, "text": "\ud800"}, "malformed"),
    "a key that breaks the log": (lambda good, _: {**good, "key": "0\nINFO a lie"}, "malformed"),
    "not signed": (lambda good, _: json.loads(good["text"])["message"], "unsigned"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_what_does_not_verify_is_dropped(authority, serve, make_bus, forgery):
    """It never reaches the endpoint, and is counted; what is true still does."""
    change, reason = FORGERIES[forgery]
    endpoint = serve(authority.signer("placement"))
    sender = authority.signer("scheduler")
    before = refused("placement", reason)
    send_raw(make_bus(), change(signed_claim(sender), authority.private["conductor"].public))
    PlacementAPI(make_bus(sender), timeout_seconds=10).claim("true")
    assert endpoint.claims() == ["true"]
    wait_for_refusals("placement", reason, before + 1)


@pytest.mark.parametrize("mode", ["off", "required"])
def test_a_context_has_short_plain_values(authority, serve, make_bus, mode):
    """Request ids, users and projects reach log lines and databases, from any sender."""
    is_signed = mode == "required"
    endpoint = serve(authority.signer("placement") if is_signed else None)
    sender, bus = authority.signer("scheduler"), make_bus()
    target = oslo_messaging.Target(topic="placement", version="1.0")
    before = refused("placement", "malformed")
    wrong = ("x" * 10_000, {"a": 1}, ["x"] * 10_000, [["x"]], ["x" * 10_000])
    for value in wrong:
        context = admin_context().to_dict() | {"request_id": value}
        message = {"method": "claim", "args": {"claims": "forged"}, "version": "1.0"}
        if is_signed:
            message, context = sender.request(AT_THE_TOP, target, context, message)[0], {}
        bus.transport._send(target, context, message)
    PlacementAPI(make_bus(sender if is_signed else None), timeout_seconds=10).claim("true")
    assert endpoint.claims() == ["true"]
    wait_for_refusals("placement", "malformed", before + len(wrong))


def test_a_key_that_is_not_enrolled_is_unknown(authority, serve, make_bus, tmp_path):
    endpoint = serve(authority.signer("placement"))
    stranger = authority.signer("stranger", key=keys.create(tmp_path / "stranger"))
    before = refused("placement", "unknown_key")
    send_raw(make_bus(), signed_claim(stranger))
    PlacementAPI(make_bus(authority.signer("scheduler")), timeout_seconds=10).claim("true")
    assert endpoint.claims() == ["true"]
    wait_for_refusals("placement", "unknown_key", before + 1)


@pytest.mark.parametrize(("late_seconds", "is_taken"), [(299, True), (301, False), (-301, False)])
def test_a_message_is_fresh_within_the_window(authority, serve, make_bus, late_seconds, is_taken):
    """By the clocks of both sides, whichever is ahead."""
    endpoint = serve(authority.signer("placement"))
    late = authority.signer("scheduler", clock=lambda: time.time() - late_seconds)
    send_raw(make_bus(), signed_claim(late, "late"))
    PlacementAPI(make_bus(authority.signer("scheduler")), timeout_seconds=10).claim("true")
    if is_taken:
        endpoint.wait_for("late")
    assert ("late" in endpoint.claims()) is is_taken


@pytest.mark.parametrize(
    ("is_fanout", "sent_before_seconds", "reason"),
    [(True, 301, "repeated"), (False, 301, "stale"), (True, -301, "stale")],
    ids=["before-the-server", "no-fanout", "of-a-clock-ahead"],
)
def test_what_the_broker_repeats_for_a_new_server_is_not_an_alarm(
    authority, serve, make_bus, is_fanout, sent_before_seconds, reason
):
    """A stream gives each new consumer the last messages of a fanout again."""
    endpoint = serve(authority.signer("placement"))
    sender = authority.signer("scheduler", clock=lambda: time.time() - sent_before_seconds)
    before = refused("placement", reason)
    bus = make_bus()
    send_raw(bus, signed_claim(sender, "old", fanout=is_fanout))
    wait_for_refusals("placement", reason, before + 1)
    send_raw(bus, signed_claim(sender, "unbound", place=Place(CELL, "other"), fanout=is_fanout))
    expected = {"misdirected"} if reason == "repeated" else {"misdirected", reason}
    found = wait_for_events(authority, len(expected))
    assert {event["reason"]["reasonType"].partition(":")[0] for event in found} == expected
    assert endpoint.claims() == []


def test_a_repeated_message_is_dropped(authority, serve, make_bus):
    """Also by another process of that machine, and by one that was restarted."""
    endpoints = [serve(authority.signer("placement")), serve(authority.signer("placement"))]
    recorded = signed_claim(authority.signer("scheduler"), "once")
    before = refused("placement", "replayed")
    bus = make_bus()
    for _ in range(4):  # the two servers share a queue and take it in turns
        send_raw(bus, recorded)
    api = PlacementAPI(make_bus(authority.signer("scheduler")), timeout_seconds=10)
    for number in range(4):
        api.claim(number)
    assert [claims for one in endpoints for claims in one.claims()].count("once") == 1
    wait_for_refusals("placement", "replayed", before + 3)


def test_a_message_to_one_is_not_taken_by_another(authority, serve, make_bus):
    """The destination is signed: what went to one server or topic cannot be given to another."""
    endpoint = serve(authority.signer("placement"), name="two")
    sender = authority.signer("scheduler")
    before = refused("placement", "misdirected")
    bus = make_bus()
    send_raw(bus, signed_claim(sender, server="one"), server="two")
    send_raw(bus, signed_claim(sender, topic="scheduler"), server="two")
    PlacementAPI(make_bus(sender), timeout_seconds=10).claim_at("two", "true")
    endpoint.wait_for("true")
    assert endpoint.claims() == ["true"]
    wait_for_refusals("placement", "misdirected", before + 2)


ELSEWHERE = {
    "another cell": Place(OTHER_CELL, AT_THE_TOP.exchange),
    "the top": AT_THE_TOP,
    "a zone": Place(zone_scope("eu"), AT_THE_TOP.exchange),
    "a zone of the name of the cell": Place(zone_scope(CELL), AT_THE_TOP.exchange),
    "another exchange": Place(CELL, "other"),
}


@pytest.mark.parametrize("kind", ["to any", "to one", "to all"])
def test_what_was_sent_elsewhere_is_not_taken_in_a_cell(authority, serve, make_bus, kind):
    """A call, a cast or a fanout, recorded there and put into this cell's broker, is refused."""
    endpoint = serve(authority.signer("placement"), scope=CELL)
    sender = authority.signer("scheduler")
    address = {"to any": {}, "to one": {"server": "one"}, "to all": {"fanout": True}}[kind]
    before = refused("placement", "misdirected")
    bus = make_bus()
    for name, place in ELSEWHERE.items():
        send_raw(bus, signed_claim(sender, name, place=place, **address))
    send_raw(bus, signed_claim(sender, "true", place=Place(CELL, AT_THE_TOP.exchange), **address))
    endpoint.wait_for("true")
    assert endpoint.claims() == ["true"]
    wait_for_refusals("placement", "misdirected", before + len(ELSEWHERE))


def test_what_was_sent_in_another_deployment_is_not_taken(authority, serve, make_bus, tmp_path):
    """Even if both deployments trust the sender, by the same key."""
    endpoint = serve(authority.signer("placement"))
    other = Authority(tmp_path / "other")
    other.vouch_for(authority, "scheduler", "scheduler")
    abroad = other.signer("scheduler", key=authority.private["scheduler"])
    before = refused("placement", "misdirected")
    send_raw(make_bus(), signed_claim(abroad))
    PlacementAPI(make_bus(authority.signer("scheduler")), timeout_seconds=10).claim("true")
    assert endpoint.claims() == ["true"]
    wait_for_refusals("placement", "misdirected", before + 1)


@pytest.mark.parametrize("is_required", [True, False])
def test_a_message_that_names_no_destination_is_refused(authority, serve, make_bus, is_required):
    """Also where messages without a signature are accepted."""
    endpoint = serve(authority.signer("placement", is_required=is_required))
    contents = json.loads(signed_claim(authority.signer("scheduler"), "anywhere")["text"])
    del contents["for"]
    send_raw(make_bus(), envelope.sign(contents, authority.private["scheduler"]))
    PlacementAPI(make_bus(authority.signer("scheduler")), timeout_seconds=10).claim("true")
    assert endpoint.claims() == ["true"]


def test_a_destination_out_of_shape_is_refused(authority, serve, make_bus):
    endpoint = serve(authority.signer("placement"))
    bus = make_bus()
    for named in ([], ["", "", ""], "top", {}, [1, 2, 3], ["x"] * 4, [["top"]] * 3):
        signed = signed_claim(authority.signer("scheduler"), str(named))
        contents = json.loads(signed["text"]) | {"for": named}
        send_raw(bus, envelope.sign(contents, authority.private["scheduler"]))
    PlacementAPI(make_bus(authority.signer("scheduler")), timeout_seconds=10).claim("true")
    assert endpoint.claims() == ["true"]


def test_an_agent_hears_its_own_cells_conductor_alone(authority, serve, make_bus):
    """The key of another cell's, with an account on this cell's broker, commands no agent here."""
    authority.enrol("cell_conductor", name="other", scope=OTHER_CELL)
    endpoint = serve(
        authority.signer("compute"), interface=AgentAPI, name=SCOPES["compute"], scope=CELL
    )
    agent = SCOPES["compute"]
    before = refused("compute", "unauthorized")
    with pytest.raises(exception.Forbidden, match="other has the scope"):
        AgentAPI(make_bus(authority.signer("other"), CELL)).claim(admin_context(), agent, "stolen")
    own = AgentAPI(make_bus(authority.signer("cell_conductor"), CELL))
    assert own.claim(admin_context(), agent, "own") == "claimed own"
    assert endpoint.claims() == ["own"]
    wait_for_refusals("compute", "unauthorized", before + 1)


def test_another_cells_conductor_answers_nothing(authority, serve, make_bus):
    """It takes a call off this cell's queue, and its answer is refused."""
    authority.enrol("cell_conductor", name="other", scope=OTHER_CELL)
    serve(authority.signer("other"), interface=CellAPI, scope=CELL)
    api = CellAPI(make_bus(authority.signer("compute"), CELL), timeout_seconds=seconds(0.5))
    with pytest.raises(exception.RpcAnswerRefused, match="does not serve"):
        api.build_failed(admin_context(), SCOPES["compute"], "h")


def test_a_reply_is_not_a_request_nor_a_request_a_reply(authority, serve, make_bus):
    """What a process signed for one purpose is of no use for another."""
    endpoint = serve(authority.signer("placement"))
    sender = authority.signer("scheduler")
    contents = {"kind": "reply", "to": "x", "at": time.time(), "result": 1, "failure": None}
    before = refused("placement", "malformed")
    send_raw(make_bus(), envelope.sign(contents, authority.private["scheduler"]))
    PlacementAPI(make_bus(sender), timeout_seconds=10).claim("true")
    assert endpoint.claims() == ["true"]
    wait_for_refusals("placement", "malformed", before + 1)


@pytest.mark.parametrize("answers_as", ["compute", "scheduler", "nobody"])
def test_an_answer_counts_only_from_who_serves_the_topic(
    authority, serve, make_bus, tmp_path, answers_as
):
    """An agent that gets at a call on the broker cannot answer it in placement's name."""
    key = keys.create(tmp_path / "key") if answers_as == "nobody" else None
    serve(authority.signer(answers_as, key=key))
    api = PlacementAPI(make_bus(authority.signer("scheduler")), timeout_seconds=seconds(0.5))
    with pytest.raises(exception.RpcAnswerRefused, match="claim on placement was rejected"):
        api.claim("x")


def test_a_role_may_do_what_the_table_says(authority, serve, make_bus):
    """An agent's key claims nothing; the refusal is an error, signed and counted."""
    endpoint = serve(authority.signer("placement"))
    before = refused("placement", "unauthorized")
    api = PlacementAPI(make_bus(authority.signer("compute")), timeout_seconds=10)
    with pytest.raises(exception.Forbidden, match="role compute may not call claim on placement"):
        api.claim("x")
    assert endpoint.heard == []
    wait_for_refusals("placement", "unauthorized", before + 1)


def test_an_agent_speaks_for_itself_only(authority, serve, make_bus):
    endpoint = serve(authority.signer("cell_conductor"), interface=CellAPI, scope=CELL)
    api = CellAPI(make_bus(authority.signer("compute"), CELL), timeout_seconds=10)
    assert api.build_failed(admin_context(), SCOPES["compute"], "h") == "noted"
    with pytest.raises(exception.Forbidden, match="compute has the scope host1; "):
        api.build_failed(admin_context(), "host2", "h")
    assert endpoint.heard == ["host1"]


def test_a_revoked_key_is_refused_after_one_push(authority, serve, make_bus):
    """The list comes over the wire, from any sender; its root's signature makes it valid.

    A changed list is pushed at once, however long the period.
    """
    signer, conductor = authority.signer("placement"), authority.signer("conductor")
    push = TrustPush(make_bus(conductor), ["placement"], period_seconds=3600)
    push.push()
    endpoint = serve(signer)
    revoked = authority.signer("scheduler")
    PlacementAPI(make_bus(revoked), timeout_seconds=10).claim("before")

    authority.change(SERVICES, authority.lists[SERVICES].changed({"scheduler": None}))
    conductor.take_over(SERVICES, authority.path().read_text())
    push.push()
    wait_for(lambda: "scheduler" not in signer.trusted[0].current().identities, "it is pushed", 10)
    endpoint.heard.clear()
    before = refused("placement", "unknown_key")
    with pytest.raises(exception.RpcTimeout):
        PlacementAPI(make_bus(revoked), timeout_seconds=1).claim("revoked")
    wait_for_refusals("placement", "unknown_key", before + 1)
    PlacementAPI(make_bus(authority.signer("conductor")), timeout_seconds=10).claim("after")
    assert endpoint.claims() == ["after"]


def test_the_list_of_the_agents_is_pushed_to_who_hears_them(authority, serve, make_bus):
    """The others are spared it: it may be long."""
    conductor, placement = authority.signer("cell_conductor"), authority.signer("placement")
    serve(conductor, interface=HostStatesAPI)
    serve(placement)
    before = {one.kind: one.current().serial for one in conductor.trusted}
    authority.enrol("compute", name="compute-2", scope="host2")
    push = TrustPush(
        make_bus(authority.signer("conductor")), ["host_states", "placement"], period_seconds=1
    )
    push.push()
    agents = next(one for one in conductor.trusted if one.kind == AGENTS)
    wait_for(lambda: agents.current().serial > before[AGENTS], "it is pushed", 10)
    assert "compute-2" in agents.current().identities
    at_placement = next(one for one in placement.trusted if one.kind == AGENTS)
    assert "compute-2" not in at_placement.current().identities


def recorded(authority, count):
    """Return who was refused what and why, by the audit log."""
    return [
        (
            event["initiator"].get("id"),
            event["initiator"].get("credential", {}).get("identifier"),
            event["action"],
            event["target"]["typeURI"],
            event["reason"]["reasonType"].partition(":")[0],
            event["outcome"],
        )
        for event in wait_for_events(authority, count)
    ]


def test_refused_messages_are_in_the_audit_trail(authority, serve, make_bus, tmp_path):
    """Without a signature, by an unknown key, by one without authority; by its key's id."""
    serve(authority.signer("placement"))
    stranger = keys.create(tmp_path / "stranger.key")
    bus = make_bus()
    send_raw(bus, {"method": "claim", "args": {"claims": "unsigned"}, "version": "1.0"})
    send_raw(bus, signed_claim(authority.signer("scheduler", key=stranger)))
    agent = authority.signer("compute")
    with pytest.raises(exception.Forbidden):
        PlacementAPI(make_bus(agent), timeout_seconds=10).claim("an agent's")
    agents_key = authority.private["compute"].key_id
    assert sorted(recorded(authority, 3), key=str) == sorted(
        [
            (None, None, "receive", "rpc/placement", "unsigned", "failure/refused"),
            (None, stranger.key_id, "receive", "rpc/placement", "unknown_key", "failure/refused"),
            ("compute", agents_key, "claim", "rpc/placement", "unauthorized", "failure/refused"),
        ],
        key=str,
    )


def test_a_flood_of_refused_messages_fills_no_disk(authority, serve, make_bus, caplog):
    """The metric has all of it; a record of another kind is not lost in it."""
    serve(authority.signer("placement"))
    bus, before = make_bus(), refused("placement", "unsigned")
    flood = 300
    for _ in range(flood):
        send_raw(bus, {"method": "claim", "args": {"claims": "unsigned"}, "version": "1.0"})
    wait_for_refusals("placement", "unsigned", before + flood)
    with pytest.raises(exception.Forbidden):
        PlacementAPI(make_bus(authority.signer("compute")), timeout_seconds=10).claim("an agent's")
    events = wait_for_events(authority, refusal_log.NOTED_AT_ONCE_MAX + 1)
    kinds = [event["reason"]["reasonType"].partition(":")[0] for event in events]
    assert kinds[-1] == "unauthorized"
    assert refusal_log.NOTED_AT_ONCE_MAX <= kinds.count("unsigned") < flood / 2
    assert sum("Refused a message" in line for line in caplog.messages) < flood / 2


def test_what_was_left_out_of_the_audit_trail_is_counted(tmp_path):
    """In the next record of its kind."""
    trail = AuditTrail(tmp_path / "audit.log", observer="a process", characters_max=256)
    now = [0.0]
    log = refusal_log.RefusalLog(trail, lambda: now[0])
    unsigned = Refused("unsigned", "it has no signature")
    for _ in range(refusal_log.NOTED_AT_ONCE_MAX + 7):
        log.note_unproven(unsigned, "placement", {})
    now[0] += refusal_log.NOTED_INTERVAL_SECONDS
    log.note_unproven(unsigned, "placement", {})
    lines = (tmp_path / "audit.log").read_text().splitlines()
    assert len(lines) == refusal_log.NOTED_AT_ONCE_MAX + 1
    assert "7 like it were left out" in lines[-1]


def test_a_refused_change_of_what_is_anothers_is_in_the_audit_trail(authority, serve, make_bus):
    """With the request that it belongs to."""
    serve(authority.signer("placement"))
    with pytest.raises(exception.NotItsOwn):
        PlacementAPI(make_bus(authority.signer("scheduler")), timeout_seconds=10).claim("another's")
    (event,) = wait_for_events(authority, 1)
    assert event["reason"]["reasonType"] == "unauthorized: it belongs to another"
    assert event["initiator"]["request_id"].startswith("req-")
