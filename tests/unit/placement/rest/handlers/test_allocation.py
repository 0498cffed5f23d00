"""Allocations over REST: forms by version, what is answered, what is refused."""

from typing import Any

import pytest

from placement.engine import PlacementEngine
from tests.builders import a_claim, a_provider, a_uuid
from tests.fixtures.placement.placement_rest import PlacementApi, check_error, detail

ME = "c0ffee00-0000-4000-8000-000000000001"
OWNER = {"project_id": "p1", "user_id": "u1"}
STAND_IN = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def provider(engine: PlacementEngine) -> str:
    """Return the UUID of a provider of 8 vCPUs, of generation 1."""
    report = a_provider()
    engine.providers.set_providers([report])
    return str(report["uuid"])


def wanted(provider: str, vcpus: int = 1, **more: Any) -> dict[str, Any]:
    """Return what is sent since 1.12, without what later versions need."""
    return {"allocations": {provider: {"resources": {"VCPU": vcpus}}}, **OWNER, **more}


def listed(provider: str, vcpus: int = 1, *, owner: bool = False) -> dict[str, Any]:
    """Return what was sent up to 1.11."""
    item = {"resource_provider": {"uuid": provider}, "resources": {"VCPU": vcpus}}
    return {"allocations": [item], **(OWNER if owner else {})}


@pytest.mark.parametrize("version", ["1.0", "1.8", "1.11", "1.12", "1.27", "1.28", "1.34", "1.38"])
def test_each_version_writes_its_own_form(api: PlacementApi, provider: str, version: str) -> None:
    """And the form of others is refused; the answer has no body."""
    number = float(version[2:])
    body = wanted(provider, 2) if number >= 12 else listed(provider, 2, owner=number >= 8)
    if number >= 28:
        body["consumer_generation"] = None
    if number >= 38:
        body["consumer_type"] = "VM"
    other = wanted(provider) if number < 12 else listed(provider, owner=True)
    assert api.put(f"/allocations/{ME}", other, version=version).status_code == 400
    answer = api.put(f"/allocations/{ME}", body, version=version)
    assert (answer.status_code, answer.text) == (204, "")
    assert "last-modified" not in answer.headers
    shown = api.get(f"/allocations/{ME}").json
    assert shown["allocations"] == {provider: {"generation": 2, "resources": {"VCPU": 2}}}
    assert shown["consumer_type"] == ("VM" if number >= 38 else "unknown")
    assert shown["project_id"] == ("p1" if number >= 8 else STAND_IN)


@pytest.mark.parametrize(
    ("version", "fields"),
    [
        ("1.11", set()),
        ("1.12", {"project_id", "user_id"}),
        ("1.28", {"project_id", "user_id", "consumer_generation"}),
        ("1.38", {"project_id", "user_id", "consumer_generation", "consumer_type"}),
    ],
)
def test_each_version_shows_its_own_fields(
    api: PlacementApi, provider: str, version: str, fields: set[str]
) -> None:
    """Of a consumer that is there; of another there is nothing to tell."""
    api.put(f"/allocations/{ME}", wanted(provider), version="1.12")
    assert api.get(f"/allocations/{ME}", version=version).json.keys() == {"allocations", *fields}
    assert api.get(f"/allocations/{a_uuid()}", version=version).json == {"allocations": {}}


def test_an_old_client_does_not_take_the_owner_away(api: PlacementApi, provider: str) -> None:
    """It sends none; the consumer has one."""
    api.put(f"/allocations/{ME}", wanted(provider, 1), version="1.12")
    api.put(f"/allocations/{ME}", listed(provider, 2), version="1.0")
    assert api.get(f"/allocations/{ME}").json["project_id"] == "p1"


def test_what_was_answered_can_be_sent_back(api: PlacementApi, provider: str) -> None:
    """With the generations of providers, and with mappings from candidates."""
    body = wanted(provider, consumer_generation=None, consumer_type="VM")
    api.put(f"/allocations/{ME}", {**body, "mappings": {"": [provider], "_A": [provider]}})
    answer = api.get(f"/allocations/{ME}").json
    assert api.put(f"/allocations/{ME}", answer).status_code == 204
    assert api.get(f"/allocations/{ME}").json["consumer_generation"] == 2


def test_a_uuid_may_be_written_in_any_form(api: PlacementApi, provider: str) -> None:
    """It is one consumer, and one provider."""
    body = wanted(provider.upper().replace("-", ""))
    api.put(f"/allocations/{ME.upper().replace('-', '')}", body, version="1.12")
    assert list(api.get(f"/allocations/{ME}").json["allocations"]) == [provider]
    twice = wanted(provider)
    twice["allocations"][provider.upper()] = {"resources": {"VCPU": 1}}
    answer = api.put(f"/allocations/{ME}", twice, version="1.12")
    assert (answer.status_code, "twice" in detail(answer)) == (400, True)


def test_several_are_written_as_one(api: PlacementApi, provider: str) -> None:
    """What one gives back another takes; a refusal leaves both as they were."""
    you = a_uuid()
    api.put(f"/allocations/{ME}", wanted(provider, 8), version="1.12")
    moved = {ME: {"allocations": {}, **OWNER}, you: wanted(provider, 8)}
    assert api.post("/allocations", moved, version="1.13").status_code == 204
    assert api.get(f"/allocations/{ME}").json == {"allocations": {}}
    both = {ME: wanted(provider, 1), you: wanted(provider, 8)}
    answer = api.post("/allocations", both, version="1.13")
    assert answer.status_code == 409
    assert "1 free" in detail(answer) or "7 free" in detail(answer)
    assert api.get(f"/allocations/{you}").json["consumer_generation"] == 1


@pytest.mark.parametrize("stale", [None, 7], ids=["must be new", "another"])
def test_a_stale_generation_is_a_conflict(
    api: PlacementApi, provider: str, stale: int | None
) -> None:
    """The code tells clients to read again."""
    api.put(f"/allocations/{ME}", wanted(provider), version="1.12")
    body = wanted(provider, consumer_generation=stale)
    answer = api.put(f"/allocations/{ME}", body, version="1.28")
    assert answer.status_code == 409
    assert check_error(answer)["code"] == "placement.concurrent_update"


def test_nothing_may_be_put_from_1_28_on(api: PlacementApi, provider: str) -> None:
    """It deletes."""
    api.put(f"/allocations/{ME}", wanted(provider), version="1.12")
    nothing = {"allocations": {}, **OWNER, "consumer_generation": 1}
    before = api.get(f"/resource_providers/{provider}").json["generation"]
    assert api.put(f"/allocations/{ME}", nothing, version="1.28").status_code == 204
    assert api.get(f"/resource_providers/{provider}").json["generation"] == before + 1
    assert api.delete(f"/allocations/{ME}").status_code == 404


@pytest.mark.parametrize(
    ("allocations", "status", "words"),
    [
        ({a_uuid(): {"VCPU": 1}}, 400, "that does not exist"),
        ({"P": {"COWS": 1}}, 400, "No such resource class COWS"),
        ({"P": {"CUSTOM_PONY": 1}}, 400, "Unable to allocate inventory for consumer"),
        ({"P": {"DISK_GB": 1}}, 409, "Inventory for 'DISK_GB' on"),
        ({"P": {"VCPU": 9}}, 409, "9 asked"),
        ({"P": {"VCPU": 2**31}}, 409, "2147483648 asked"),
        ({"P": {"VCPU": True}}, 400, "JSON does not validate"),
        ({"P": {}}, 400, "JSON does not validate"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(
    api: PlacementApi, provider: str, allocations: dict[str, Any], status: int, words: str
) -> None:
    """400 for an unknown class, 409 for what there is not enough of."""
    given = {
        provider if uuid == "P" else uuid: {"resources": resources}
        for uuid, resources in allocations.items()
    }
    answer = api.put(f"/allocations/{ME}", {"allocations": given, **OWNER}, version="1.12")
    assert (answer.status_code, words in detail(answer)) == (status, True)


def test_a_consumer_is_named_by_a_uuid(api: PlacementApi, provider: str) -> None:
    """To be written; who asks for another finds nothing."""
    answer = api.put("/allocations/me", wanted(provider), version="1.12")
    assert (answer.status_code, detail(answer)) == (400, "Malformed consumer_uuid: me")
    assert api.get("/allocations/me").json == {"allocations": {}}
    assert api.delete("/allocations/me").status_code == 404


def test_a_provider_is_named_once(api: PlacementApi, provider: str) -> None:
    """Two entries of a list would hide each other."""
    body = listed(provider)
    body["allocations"] *= 2
    assert api.put(f"/allocations/{ME}", body, version="1.0").status_code == 400


def test_a_claim_over_rpc_is_shown(
    api: PlacementApi, engine: PlacementEngine, provider: str
) -> None:
    """And deleted."""
    engine.claims.claim([a_claim(provider, consumer_uuid=ME)])
    assert api.get(f"/allocations/{ME}").json["consumer_type"] == "INSTANCE"
    assert api.delete(f"/allocations/{ME}").status_code == 204
    assert engine.allocations.get([ME]) == {}
