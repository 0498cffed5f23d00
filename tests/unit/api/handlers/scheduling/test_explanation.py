"""Explanations: why a server is where it is."""

from datetime import UTC, datetime

import pytest

from objects.instances.explanation import BuildWait, Decision
from tests import builders
from tests.fixtures.http_api import MEMBER, Api
from tests.fixtures.super_conductor import SuperConductor


def a_decision(operation: str, request_id: str) -> Decision:
    decided_at = datetime(2030, 1, 31, 12, microsecond=123456, tzinfo=UTC)
    return Decision(operation, request_id, decided_at, "host2", None)


@pytest.fixture
def path(conductor: SuperConductor) -> str:
    server = builders.an_instance(host="host2", attempt=2)
    conductor.servers = [server]
    conductor.faults = [builders.a_fault(server.uuid)]
    conductor.trace = {"hosts_total": 20, "sentence": None}
    return f"/v2.1/armillary/servers/{server.uuid}/explain"


def test_an_administrator_sees_all_of_it(path: str, api: Api, conductor: SuperConductor) -> None:
    """Trace, faults and attempts."""
    explained = api.get(path).json["explanation"]
    assert conductor.shows_hosts is True
    assert explained["server"]["host"] == "host2"
    assert explained["trace"] == {"hosts_total": 20, "sentence": None}
    assert explained["faults"] == [
        {
            "attempt": 1,
            "code": 500,
            "message": "The build failed.",
            "created": "2030-01-31T12:00:00Z",
            "host": "host1",
            "details": "host1: no space left on device",
        }
    ]
    assert explained["attempts"] == [
        {"attempt": 1, "host": "host1", "result": "Error", "reason": "no space"},
        {"attempt": 2, "host": "host2", "result": "Success", "reason": None},
    ]


def test_the_zone_of_the_host_is_named(path: str, api: Api, conductor: SuperConductor) -> None:
    """To those who see its name: it may be unlike the one that was asked."""
    conductor.servers[0].zone = "eu/eu-1"
    assert api.get(path).json["explanation"]["server"]["zone"] == "eu/eu-1"
    assert "eu-1" not in api.get(path, token=MEMBER).text


def test_its_owner_sees_no_hosts(path: str, api: Api, conductor: SuperConductor) -> None:
    """But that there were two attempts, and how they ended."""
    conductor.faults[0].message = "The build failed: host1 has no space left."
    answer = api.get(path, token=MEMBER)
    assert conductor.shows_hosts is False
    assert "host1" not in answer.text
    assert "host2" not in answer.text
    attempts = answer.json["explanation"]["attempts"]
    assert [attempt["result"] for attempt in attempts] == ["Error", "Success"]


def test_what_its_build_waits_for(path: str, api: Api, conductor: SuperConductor) -> None:
    """Users read that it waits, administrators for which cell and after which error."""
    accepted = datetime(2030, 1, 31, 12, tzinfo=UTC)
    conductor.wait = BuildWait(accepted, "Its cell is down.", "cell1", "host1: no answer")
    of_user = {"since": "2030-01-31T12:00:00Z", "message": "Its cell is down."}
    assert api.get(path, token=MEMBER).json["explanation"]["wait"] == of_user
    of_administrator = {**of_user, "cell": "cell1", "reason": "host1: no answer"}
    assert api.get(path).json["explanation"]["wait"] == of_administrator


def test_decisions_are_told_apart(path: str, api: Api, conductor: SuperConductor) -> None:
    """The trace is that of the last one, unless another one's request is named."""
    conductor.decisions = [a_decision("resize", "req-2"), a_decision("create", "req-1")]
    explained = api.get(path).json["explanation"]
    shown = {
        "operation": "resize",
        "request_id": "req-2",
        "decided_at": "2030-01-31T12:00:00Z",
        "host": "host2",
        "sentence": None,
    }
    assert explained["decision"] == shown
    assert explained["decisions"] == [
        shown,
        {**shown, "operation": "create", "request_id": "req-1"},
    ]
    other = api.get(path, request_id="req-1").json["explanation"]
    assert other["decision"]["operation"] == "create"
    assert conductor.decision_asked == "req-1"


def test_decisions_name_no_host_to_its_owner(
    path: str, api: Api, conductor: SuperConductor
) -> None:
    """Whatever the conductor answered."""
    conductor.decisions = [a_decision("resize", "req-2")]
    explained = api.get(path, token=MEMBER).json["explanation"]
    assert "host" not in explained["decision"]
    assert "host" not in explained["decisions"][0]


def test_others_see_nothing(path: str, api: Api) -> None:
    """404."""
    assert api.get(path, token="u2:p2").status_code == 404


def test_a_server_without_trace_is_explained_so_far(
    path: str, api: Api, conductor: SuperConductor
) -> None:
    """The scheduler was not asked yet."""
    conductor.trace = None
    assert api.get(path).json["explanation"]["trace"] is None
