"""Usages of projects over REST."""

from typing import Any

import pytest

from placement.engine import PlacementEngine
from placement.ledger.consumer_writes import ConsumerWrite
from tests.builders import a_provider, a_uuid
from tests.fixtures.placement.placement_rest import PlacementApi


@pytest.fixture
def api_in_use(api: PlacementApi, engine: PlacementEngine) -> PlacementApi:
    """Return an API where a project has two consumers of type VM and one of none."""
    report = a_provider()
    engine.providers.set_providers([report])
    engine.consumer_writes.put(
        [
            ConsumerWrite(a_uuid(), {report["uuid"]: {"VCPU": vcpus}}, "p1", user, type_)
            for vcpus, user, type_ in [(1, "u1", "VM"), (2, "u2", "VM"), (3, "u1", None)]
        ]
    )
    return api


@pytest.mark.parametrize(
    ("version", "query", "usages"),
    [
        ("1.9", "project_id=p1", {"VCPU": 6}),
        ("1.37", "project_id=p1&user_id=u1", {"VCPU": 4}),
        ("1.9", "project_id=p2", {}),
        (
            "1.38",
            "project_id=p1",
            {"VM": {"consumer_count": 2, "VCPU": 3}, "unknown": {"consumer_count": 1, "VCPU": 3}},
        ),
        ("1.38", "project_id=p1&consumer_type=all", {"all": {"consumer_count": 3, "VCPU": 6}}),
        ("1.38", "project_id=p1&consumer_type=VM", {"VM": {"consumer_count": 2, "VCPU": 3}}),
        ("1.38", "project_id=p1&consumer_type=ALL", {}),
        ("1.38", "project_id=p2&consumer_type=all", {}),
    ],
)
def test_usages_are_sums(
    api_in_use: PlacementApi, version: str, query: str, usages: dict[str, Any]
) -> None:
    """From 1.38 on by the type of consumers."""
    assert api_in_use.get(f"/usages?{query}", version=version).json == {"usages": usages}


@pytest.mark.parametrize(
    ("version", "query", "status"),
    [
        ("1.8", "project_id=p1", 404),
        ("1.9", "", 400),
        ("1.9", "user_id=u1", 400),
        ("1.37", "project_id=p1&consumer_type=VM", 400),
        ("1.38", "project_id=p1&consumer_type=vm", 400),
    ],
)
def test_a_project_has_to_be_named(
    api: PlacementApi, version: str, query: str, status: int
) -> None:
    """And nothing that the version does not know."""
    assert api.get(f"/usages?{query}", version=version).status_code == status
