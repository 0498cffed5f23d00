"""Claims over HTTP: who may claim what, and who reads the names of pools."""

from typing import Any

import pytest

from armillary import exception
from armillary.context import RequestContext
from objects.claims.resource_claim import ClaimState, NewClaim
from tests.fixtures.http_api import MEMBER, NEWEST, Api, message
from tests.fixtures.super_conductor import SuperConductor

PATH = "/v2.1/armillary/claims"
STORAGE: dict[str, Any] = {"kind": "storage", "resources": {"DISK_GB": 500}}


def created(api: Api, token: str = MEMBER, **values: Any) -> dict[str, Any]:
    answer = api.post(PATH, {"claim": {**STORAGE, **values}}, token=token)
    assert answer.status_code == 202, answer.text
    claim: dict[str, Any] = answer.json["claim"]
    return claim


def test_a_claim_is_accepted_shown_and_ended(api: Api, conductor: SuperConductor) -> None:
    """By a member of its project, who reads no name of a pool."""
    made = created(api, name="data", required=["STORAGE_DISK_SSD"])
    assert (made["status"], made["kind"], made["name"]) == ("PENDING", "storage", "data")
    shown = api.get(f"{PATH}/{made['id']}", token=MEMBER).json["claim"]
    assert (shown["status"], shown["resources"]) == ("ACTIVE", {"DISK_GB": 500})
    assert "pool" not in shown
    assert "alternates" not in shown
    assert [one["id"] for one in api.get(PATH, token=MEMBER).json["claims"]] == [made["id"]]
    assert api.delete(f"{PATH}/{made['id']}", token=MEMBER).status_code == 204
    assert conductor.claims == {}


def test_a_repeat_after_a_lost_answer_asks_for_the_same_claim(
    api: Api, conductor: SuperConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its conductor may have accepted the first one: it must know the second one for a repeat."""
    asked: list[str] = []

    def lost(_context: RequestContext, claim: NewClaim) -> None:
        asked.append(claim.uuid)
        raise exception.RpcTimeout(method="create_claim", topic="conductor", timeout_seconds=1)

    monkeypatch.setattr(conductor, "create_claim", lost)
    for key in ("key-of-the-first", "key-of-the-first", "another-key"):
        headers = {**NEWEST, "Idempotency-Key": key}
        answer = api.send("POST", PATH, json={"claim": STORAGE}, headers=headers, token=MEMBER)
        assert answer.status_code == 504
    assert asked[0] == asked[1] != asked[2]


def test_administrators_read_the_names_of_pools(api: Api) -> None:
    """In a claim, with its alternates."""
    made = created(api)
    shown = api.get(f"{PATH}/{made['id']}").json["claim"]
    assert (shown["pool"], shown["alternates"]) == ("array1", ["array2"])


def test_administrators_list_the_claims_of_a_pool(api: Api, conductor: SuperConductor) -> None:
    """By its name or UUID; a filter would tell others which claims share a pool."""
    made = created(api)
    conductor.claim_outcome = {**conductor.claim_outcome, "pool_name": "array2", "pool_uuid": "u"}
    created(api)
    pool_id = api.get(f"{PATH}/{made['id']}").json["claim"]["pool_id"]
    for pool in ("array1", pool_id):
        shown = api.get(f"{PATH}?all_projects=true&pool={pool}").json["claims"]
        assert [one["id"] for one in shown] == [made["id"]]
    assert api.get(f"{PATH}?all_projects=true&pool=array3").json["claims"] == []
    assert api.get(f"{PATH}?pool=array1", token=MEMBER).status_code == 403


def test_only_administrators_name_a_pool(api: Api) -> None:
    """Others do not know which there are."""
    asked = {"claim": {**STORAGE, "pool": "array1"}}
    assert api.post(PATH, asked, token=MEMBER).status_code == 403
    assert api.post(PATH, asked).status_code == 202


def test_a_lifetime_is_an_end(api: Api, conductor: SuperConductor) -> None:
    """Counted from the request; an end and a lifetime together are refused."""
    created(api, lifetime_seconds=60)
    (stored,) = conductor.claims.values()
    assert stored.asked.ends_at is not None
    both = {**STORAGE, "lifetime_seconds": 60, "ends_at": "2040-01-31T12:00:00Z"}
    assert api.post(PATH, {"claim": both}, token=MEMBER).status_code == 400


BAD = [
    ({"kind": "storage"}, "claim.resources"),
    ({**STORAGE, "resources": {}}, "claim.resources"),
    ({**STORAGE, "resources": {"DISK_GB": 0}}, "claim.resources.DISK_GB"),
    ({**STORAGE, "resources": {"DISK_GB": 1.5}}, "claim.resources.DISK_GB"),
    ({**STORAGE, "required": "A"}, "claim.required"),
    ({**STORAGE, "server_id": "x"}, "claim.server_id"),
    ({**STORAGE, "lifetime_seconds": 0}, "claim.lifetime_seconds"),
    ({**STORAGE, "ends_at": "soon"}, "ends_at"),
    ({**STORAGE, "more": 1}, "claim.more"),
]


@pytest.mark.parametrize(("claim", "field"), BAD, ids=[field for _claim, field in BAD])
def test_a_malformed_claim_is_refused(
    claim: dict[str, Any], field: str, api: Api, conductor: SuperConductor
) -> None:
    """With the name of the field; nothing is stored."""
    answer = api.post(PATH, {"claim": claim}, token=MEMBER)
    assert answer.status_code == 400
    assert field in message(answer)
    assert conductor.claims == {}


def test_a_claim_of_another_project_does_not_exist(api: Api, conductor: SuperConductor) -> None:
    """404 for all that names it."""
    path = f"{PATH}/{created(api, token='u2:p2')['id']}"
    assert api.get(path, token=MEMBER).status_code == 404
    assert api.get(f"{path}/explain", token=MEMBER).status_code == 404
    assert api.delete(path, token=MEMBER).status_code == 404
    assert len(conductor.claims) == 1


def test_an_explanation_has_claim_and_trace(api: Api, conductor: SuperConductor) -> None:
    """The trace is that of the decision."""
    conductor.claim_trace = {"sentence": None}
    conductor.claim_outcome = {"state": ClaimState.ERROR, "fault": "No pool fits."}
    made = created(api)
    shown = api.get(f"{PATH}/{made['id']}/explain", token=MEMBER).json["explanation"]
    assert shown["trace"] == {"sentence": None}
    assert (shown["claim"]["status"], shown["claim"]["fault"]) == ("ERROR", "No pool fits.")


def test_quotas_are_set_by_administrators(api: Api) -> None:
    """And read by the project."""
    path = "/v2.1/armillary/claim-quotas/p1"
    wanted = {"claim_quotas": {"claims": 5, "claims:DISK_GB": 1000}}
    assert api.put(path, wanted, token=MEMBER).status_code == 403
    assert api.put(path, wanted).status_code == 200
    shown = api.get(path, token=MEMBER).json["claim_quotas"]
    assert shown["claims:DISK_GB"] == {"limit": 1000, "in_use": 0}
