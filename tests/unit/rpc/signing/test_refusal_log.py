"""Refused messages in the audit trail, also when there are many."""

import pytest

from armillary import exception
from armillary.audit import AuditTrail
from armillary.logs import line_budget
from armillary.logs.line_budget import BoundedLog
from rpc.signing import keys, message_signer, refusal_log
from rpc.signing.envelope import Refused
from rpc.signing.trust import SERVICES
from tests.unit.rpc.signing.signed_ledger import (
    PlacementAPI,
    refused,
    send_raw,
    signed_claim,
    wait_for_events,
    wait_for_refusals,
)


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
    events = wait_for_events(authority, line_budget.AT_ONCE_MAX + 1)
    kinds = [event["reason"]["reasonType"].partition(":")[0] for event in events]
    assert kinds[-1] == "unauthorized"
    assert line_budget.AT_ONCE_MAX <= kinds.count("unsigned") < flood / 2
    assert sum("Refused a message" in line for line in caplog.messages) < flood / 2


def test_what_was_left_out_of_the_audit_trail_is_counted(tmp_path):
    """In the next record of its kind."""
    trail = AuditTrail(tmp_path / "audit.log", observer="a process", characters_max=256)
    now = [0.0]
    log = refusal_log.RefusalLog(trail, lambda: now[0])
    unsigned = Refused("unsigned", "it has no signature")
    for _ in range(line_budget.AT_ONCE_MAX + 7):
        log.note_unproven(unsigned, "placement", {})
    now[0] += line_budget.INTERVAL_SECONDS
    log.note_unproven(unsigned, "placement", {})
    lines = (tmp_path / "audit.log").read_text().splitlines()
    assert len(lines) == line_budget.AT_ONCE_MAX + 1
    assert "7 like it were left out" in lines[-1]


def test_a_flood_of_false_trust_lists_is_a_few_lines(authority, caplog, monkeypatch):
    """Any account can push lists: a root key has to have signed them, not the message."""
    signer = authority.signer("placement")
    monkeypatch.setattr(message_signer, "_CAUSED", BoundedLog(message_signer.LOG, lambda: 0.0))
    for _ in range(3 * line_budget.AT_ONCE_MAX):
        assert not signer.take_over(SERVICES, "false")
    lines = [line for line in caplog.messages if "trust list" in line]
    assert len(lines) == line_budget.AT_ONCE_MAX


def test_a_refused_change_of_what_is_anothers_is_in_the_audit_trail(authority, serve, make_bus):
    """With the request that it belongs to."""
    serve(authority.signer("placement"))
    with pytest.raises(exception.NotItsOwn):
        PlacementAPI(make_bus(authority.signer("scheduler")), timeout_seconds=10).claim("another's")
    (event,) = wait_for_events(authority, 1)
    assert event["reason"]["reasonType"] == "unauthorized: it belongs to another"
    assert event["initiator"]["request_id"].startswith("req-")
