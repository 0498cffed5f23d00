"""A POST with an Idempotency-Key is carried out once."""

from typing import Any

import pytest
import sqlalchemy as sa

from placement.db.models import IdempotencyRecord
from placement.engine import PlacementEngine
from tests.builders import a_uuid
from tests.fixtures.placement.placement_rest import PlacementApi

KEY = "0d2d7a1c-3f0b-4f7d-9a55-7f6f1a3ce0aa"
ROLES = {"X-Roles": "admin,service"}
HEADERS = {"Idempotency-Key": KEY, **ROLES}
RACK, CONSUMER = a_uuid(), a_uuid()
VCPU = {"resource_class": "VCPU", "total": 8}
CLAIM = {
    "allocations": {RACK: {"resources": {"MEMORY_MB": 256}}},
    "project_id": "p1",
    "user_id": "u1",
    "consumer_generation": None,
    "consumer_type": "INSTANCE",
}
CHANGES: dict[str, tuple[str, Any]] = {
    "provider": ("/resource_providers", {"name": "host1"}),
    "child with a UUID": (
        "/resource_providers", {"name": "numa0", "uuid": a_uuid(), "parent_provider_uuid": RACK}
    ),
    "resource class": ("/resource_classes", {"name": "CUSTOM_FPGA"}),
    "inventory": (f"/resource_providers/{RACK}/inventories", VCPU),
    "allocations": ("/allocations", {CONSUMER: CLAIM}),
    "reshape": (
        "/reshaper",
        {
            "inventories": {
                RACK: {
                    "resource_provider_generation": 1,
                    "inventories": {"MEMORY_MB": {"total": 512}},
                }
            },
            "allocations": {CONSUMER: CLAIM},
        },
    ),
}  # fmt: skip


@pytest.fixture
def rack(api: PlacementApi) -> str:
    """Return a provider with memory."""
    api.post("/resource_providers", {"name": "rack", "uuid": RACK})
    memory = {"resource_class": "MEMORY_MB", "total": 1024}
    assert api.post(f"/resource_providers/{RACK}/inventories", memory).status_code == 201
    return RACK


def test_a_provider_is_created_once(api: PlacementApi) -> None:
    """The repeat has the first answer, though the name is taken by now."""
    first = api.post("/resource_providers", {"name": "host1"}, headers=HEADERS)
    second = api.post("/resource_providers", {"name": "host1"}, headers=HEADERS)
    assert first.status_code == 200
    assert (second.status, second.json) == (first.status, first.json)
    assert second.headers["location"] == first.headers["location"]
    assert len(api.get("/resource_providers").json["resource_providers"]) == 1


@pytest.mark.parametrize("change", CHANGES)
def test_a_repeat_gets_what_the_first_time_made(
    api: PlacementApi, rack: str, engine: PlacementEngine, change: str
) -> None:
    """Its process was killed after the commit, before it had stored the answer for repeats."""
    path, body = CHANGES[change]
    first = api.post(path, body, headers=HEADERS)
    assert first.status_code in (200, 201, 204)
    _lose_answer(engine)
    again = api.post(path, body, headers=HEADERS)
    assert (again.status, again.text) == (first.status, first.text)
    assert again.headers.get("location") == first.headers.get("location")
    assert api.post(path, body, headers=ROLES).status_code == 409, "another request is refused"


def _lose_answer(engine: PlacementEngine) -> None:
    record = IdempotencyRecord
    with engine._database.writer() as session:
        lost = session.execute(
            sa.update(record).where(record.fingerprint != "").values(answer=None, begun_at=0.0)
        )
        assert lost.rowcount == 1  # type: ignore[attr-defined]


def test_a_repeat_whose_first_time_failed_before_its_commit_is_carried_out(
    api: PlacementApi, rack: str, engine: PlacementEngine
) -> None:
    """Only what was committed is noted."""
    path, body = CHANGES["inventory"]
    refused = api.post(path, {**body, "total": -1}, headers=HEADERS)
    assert refused.status_code == 400
    assert api.post(path, body, headers=HEADERS).status_code == 201


def test_requests_without_a_key_note_nothing(
    api: PlacementApi, rack: str, engine: PlacementEngine
) -> None:
    """They cannot be recognised again."""
    with engine._database.reader() as session:
        assert not session.scalar(sa.select(sa.func.count()).select_from(IdempotencyRecord))


def test_the_key_of_another_request_is_refused(api: PlacementApi) -> None:
    """With the API's own form of errors."""
    api.post("/resource_providers", {"name": "host2"}, headers=HEADERS)
    assert api.post("/resource_providers", {"name": "host3"}, headers=HEADERS).status_code == 422
