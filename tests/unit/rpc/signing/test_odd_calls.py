"""Calls that no client of ours makes, signed with a key of ours: no traceback, here or there."""

import logging
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import oslo_messaging
import pytest

from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.logs import line_budget
from armillary.logs.line_budget import BoundedLog
from rpc import broker_logs
from rpc import server as rpc_server
from rpc.authority import BASE_NAMESPACE
from rpc.callers import SCHEDULER
from rpc.interface import Interface, call
from rpc.transport import Bus
from tests.fixtures.asking import wait_for
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.signing import Authority

FAULTY = "what no handler expects"


class LedgerAPI(Interface):
    TOPIC = "placement"
    SERVED_BY = "placement"

    @call(SCHEDULER)
    def claim(self, context: RequestContext, claims: str) -> str: ...


class Ledger:
    def claim(self, context: RequestContext, claims: str) -> str:
        if claims == FAULTY:
            raise KeyError(claims)
        return f"claimed {claims}"


@pytest.fixture(params=[True, False], ids=["signed", "unsigned"])
def bus(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bus]:
    """Return an attacker's bus, on which placement serves."""
    authority = Authority(tmp_path / "authority")
    url = f"kombu+memory:////{uuid.uuid4()}"
    buses = []
    for role in ("placement", "scheduler"):
        authority.enrol(role)
    for role in ("placement", "scheduler"):
        signer = authority.signer(role) if request.param else None
        buses.append(Bus(messaging_conf(), url, message_signer=signer))
    server = buses[0].server(LedgerAPI, "one", [Ledger()])
    server.start()
    broker_logs.quieten()
    yield buses[1]
    server.stop()
    server.wait()
    for each in buses:
        each.close()


def send(bus: Bus, message: dict[str, Any], *, waits: bool) -> Any:
    target = oslo_messaging.Target(topic="placement", version="1.0")
    how = {"wait_for_reply": True, "timeout": 10} if waits else {}
    client = bus.client("placement", version="1.0", may_answer=lambda _identity, _server: True)
    return client.transport._send(target, admin_context().to_dict(), message, **how)


MALFORMED: dict[str, dict[str, Any]] = {
    "a version that is a number": {"method": "claim", "args": {}, "version": 1},
    "a version that is a word": {"method": "claim", "args": {}, "version": "one"},
    "a version without end": {"method": "claim", "args": {}, "version": "1." + "9" * 5000},
    "another namespace": {"method": "ping", "args": {}, "namespace": "another"},
    "a namespace that is a list": {"method": "ping", "args": {}, "namespace": ["x"]},
    "a long method": {"method": "x" * 1000, "args": {}},
    "no method": {"args": {}},
    "a method that is none": {"method": None, "args": {}},
    "arguments in a list": {"method": "claim", "args": []},
}


@pytest.mark.parametrize("what", MALFORMED)
def test_what_is_not_a_call_is_dropped(
    what: str, bus: Bus, caplog: pytest.LogCaptureFixture
) -> None:
    """With a line among the refused messages, which are limited; others are answered."""
    send(bus, MALFORMED[what], waits=False)
    wait_for(lambda: "(malformed)" in caplog.text, "it is refused", 10)
    good = {"method": "claim", "args": {"claims": "two"}, "version": "1.0"}
    assert send(bus, good, waits=True) == "claimed two"
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.parametrize("name", ["context", "self", "handler", "arguments", "", "claims "])
def test_an_argument_of_any_name_is_refused_as_others_are(
    name: str, bus: Bus, caplog: pytest.LogCaptureFixture
) -> None:
    """Also one that a handler of ours has, for another thing."""
    caplog.set_level(logging.INFO)
    odd = {"method": "claim", "args": {"claims": "two", name: 1}, "version": "1.0"}
    with pytest.raises(exception.Invalid) as refused:
        send(bus, odd, waits=True)
    assert bus.message_signer is None or "site-packages" not in str(refused.value)
    ping = {"method": "ping", "args": {name: 1}, "namespace": BASE_NAMESPACE, "version": "1.1"}
    assert send(bus, ping, waits=True)["service"] == "armillary"
    assert not any(record.exc_info for record in caplog.records)


def test_a_call_that_fails_again_and_again_fills_no_disk(
    bus: Bus, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the tracebacks of one method some are logged, others are counted."""
    monkeypatch.setattr(rpc_server, "_FAILURES", BoundedLog(rpc_server.LOG))
    monkeypatch.setattr(line_budget, "AT_ONCE_MAX", 3)
    bad = {"method": "claim", "args": {"claims": FAULTY}, "version": "1.0"}
    for _ in range(10):
        with pytest.raises(exception.RpcFailed):
            send(bus, bad, waits=True)
    written = [record for record in caplog.records if "failed unexpectedly" in record.getMessage()]
    assert 3 <= len(written) < 10
    assert all(record.exc_info for record in written)
