"""Signed messages over the embedded broker: accepted and refused keys, and authority."""

import json
import time

import oslo_messaging
import pytest

from armillary import exception
from armillary.context import admin_context
from rpc.signing import enrolment, envelope, keys
from rpc.signing.place import Place, zone_scope
from rpc.signing.push import TrustPush
from rpc.signing.trust import AGENTS, SERVICES
from rpc.wire import value_bounds
from tests.fixtures.asking import wait_for
from tests.fixtures.signing import AT_THE_TOP, SCOPES, Authority
from tests.fixtures.waiting import seconds
from tests.unit.rpc.signing.signed_ledger import (
    AgentAPI,
    CellAPI,
    HostStatesAPI,
    PlacementAPI,
    refused,
    send_raw,
    signed_claim,
    wait_for_events,
    wait_for_refusals,
)

CELL = SCOPES["cell_conductor"]
OTHER_CELL = "5f3a4b1e-0000-4000-8000-000000000002"


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
    """By the clocks of both sides, whichever is ahead; here both are stopped."""
    now = time.time()
    endpoint = serve(authority.signer("placement", clock=lambda: now))
    late = authority.signer("scheduler", clock=lambda: now - late_seconds)
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
    now = time.time()
    endpoint = serve(authority.signer("placement", clock=lambda: now))
    sender = authority.signer("scheduler", clock=lambda: now - sent_before_seconds)
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

    A changed list is pushed immediately, however long the period.
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


def new_key_of(authority, name):
    """Give a process another key, and put it on the list in place of the former one."""
    key = authority.private[name] = keys.create(authority.directory / f"{name}.new")
    (authority.directory / f"{name}.new").replace(authority.key_path(name))
    changed = enrolment.rotated(
        authority.lists[SERVICES], name, key.public, now=time.time(), overlap_seconds=0
    )
    authority.change(SERVICES, changed)


def test_a_list_is_taken_from_a_conductor_whose_new_key_only_that_list_names(
    authority, serve, make_bus
):
    """Else a stolen key of the conductor that pushes could be replaced on no process by a push."""
    signer = authority.signer("placement")
    endpoint = serve(signer)
    new_key_of(authority, "conductor")
    conductor = authority.signer("conductor")
    TrustPush(make_bus(conductor), ["placement"], period_seconds=3600).push()
    wait_for(
        lambda: signer.trusted[0].document == authority.path().read_text(), "it is taken over", 10
    )
    PlacementAPI(make_bus(conductor), timeout_seconds=10).claim("by the new key")
    assert endpoint.claims() == ["by the new key"]


@pytest.mark.parametrize("flaw", ["older", "of another root"])
def test_a_stranger_brings_no_list_that_is_not_the_operators(authority, serve, make_bus, flaw):
    """The root's signature and the serial number decide, whichever process sends it."""
    signer = authority.signer("placement")
    serve(signer)
    stranger = authority.signer("conductor", key=keys.create(authority.directory / "stranger.key"))
    brought = stranger.trusted[0]
    if flaw == "older":
        new_key_of(authority, "scheduler")
        signer.take_over(SERVICES, authority.path().read_text())
    else:
        authority.root = keys.create(authority.directory / "foreign-root.key")
        new_key_of(authority, "scheduler")
        brought.document = authority.path().read_text()
    current = signer.trusted[0].document
    assert current != brought.document
    before = refused("placement", "unknown_key")
    TrustPush(make_bus(stranger), ["placement"], period_seconds=3600).push()
    wait_for_refusals("placement", "unknown_key", before + 1)
    assert signer.trusted[0].document == current


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


def test_a_signed_text_of_many_values_is_not_parsed():
    """Nor one of an unknown key, in which a newer trust list would be looked for."""
    text = "[" + "{}," * value_bounds.VALUES_MAX + "{}]"
    with pytest.raises(envelope.Refused, match="values"):
        envelope.SignedMessage(text, b"", "0" * 16).contents()
