"""Dry runs: where servers would go, and why."""

from typing import Any

import pytest

from tests import builders
from tests.fixtures.http_api import MEMBER, Api
from tests.fixtures.super_conductor import SuperConductor

UUID = "4b1f3f6c-8d1a-4c43-9a59-0e2d9b0f5c12"
PATH = "/v2.1/armillary/dry-run"
A_HOST = {
    "host": "host1",
    "node": "host1.example.org",
    "availability_zone": "nova",
    "allocations": {"p1": {"resources": {"VCPU": 1}}},
    "alternates": ["host2"],
    "zone": None,
    "host_id": UUID,
    "alternate_zones": [None],
}
IN_A_ZONE: dict[str, Any] = {
    "host": None,
    "node": None,
    "availability_zone": None,
    "allocations": {},
    "alternates": ["host1"],
    "zone": "eu/eu-1",
    "host_id": UUID,
    "alternate_zones": [None],
}


@pytest.fixture(autouse=True)
def _flavor(conductor: SuperConductor) -> None:
    conductor.flavors = [builders.a_flavor("small")]


def test_it_asks_what_a_request_to_build_would(api: Api, conductor: SuperConductor) -> None:
    """The name may be left out."""
    conductor.would_go_to = [A_HOST, IN_A_ZONE]
    conductor.trace = {"hosts_total": 3, "sentence": None}
    answer = api.post(PATH, {"server": {"flavorRef": "small", "max_count": 2}})
    assert answer.status_code == 200
    assert answer.json["dry_run"] == {"hosts": [A_HOST, IN_A_ZONE], "trace": conductor.trace}
    (request,) = conductor.requests
    assert (request["server"]["flavor"], request["server"]["max_count"]) == ("small", 2)
    assert conductor.servers == []


def test_hints_are_passed_on(api: Api, conductor: SuperConductor) -> None:
    """In both spellings' one form: lists of texts."""
    hints = {"different_host": UUID}
    api.post(PATH, {"server": {"flavorRef": "small"}, "os:scheduler_hints": hints})
    assert conductor.requests[0]["server"]["hints"] == {"different_host": [UUID]}


def test_a_request_spec_is_passed_on_as_it_is(api: Api, conductor: SuperConductor) -> None:
    """The super conductor reads it."""
    spec = {"flavor": {"vcpus": 1, "memory_mb": 512}, "num_instances": 2}
    assert api.post(PATH, {"request_spec": spec}).status_code == 200
    assert conductor.requests == [{"request_spec": spec}]


def test_that_no_host_fits_is_an_answer(api: Api, conductor: SuperConductor) -> None:
    """With the sentence."""
    conductor.trace = {"sentence": "All 3 hosts lack VCPU."}
    answer = api.post(PATH, {"server": {"flavorRef": "small"}})
    assert (answer.status_code, answer.json["dry_run"]["hosts"]) == (200, [])


def test_hosts_are_shown_to_whom_the_policy_says(api: Api, conductor: SuperConductor) -> None:
    """The same rule as for explanations."""
    api.post(PATH, {"server": {"flavorRef": "small"}})
    assert conductor.shows_hosts is True


def test_members_may_not_ask(api: Api) -> None:
    """Unless the policy file says so."""
    assert api.post(PATH, {"server": {"flavorRef": "small"}}, token=MEMBER).status_code == 403


def deep(levels: int) -> Any:
    return {} if levels == 1 else {"extra": deep(levels - 1)}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "Either server or request_spec"),
        ({"server": {"flavorRef": "small"}, "request_spec": {}}, "Either server or request_spec"),
        ({"request_spec": {}, "os:scheduler_hints": {}}, "scheduler_hints"),
        ({"server": {}}, "flavorRef"),
        ({"server": {"flavorRef": "small", "min_count": 3, "max_count": 2}}, "min_count"),
        ({"server": {"flavorRef": "huge"}}, "server.flavorRef"),
        ({"request_spec": {"flavor": "huge"}}, "request_spec"),
        ({"request_spec": deep(21)}, "20 levels"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_refused(api: Api, body: Any, said: str) -> None:
    """Naming the field, also for what does not exist: 404 is for the path."""
    answer = api.post(PATH, body)
    assert answer.status_code == 400
    assert said in answer.json["badRequest"]["message"]


def test_twenty_levels_are_not_too_deep(api: Api) -> None:
    """They are the limit."""
    assert api.post(PATH, {"request_spec": deep(20)}).status_code == 200
