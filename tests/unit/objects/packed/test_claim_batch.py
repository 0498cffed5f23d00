"""Claims travel together, and come out as they went in."""

import json
from typing import Any

import pytest

from armillary import exception
from objects.allocations.allocation import AllocationClaim, ClaimResult, ClaimStatus
from objects.packed.claim_batch import ClaimAnswers, ClaimBatch
from tests.builders import a_uuid


def sent(batch: Any) -> Any:
    return type(batch).obj_from_primitive(json.loads(json.dumps(batch.obj_to_primitive())))


def a_claim(**values: Any) -> AllocationClaim:
    allocations = {a_uuid(): {"resources": {"VCPU": 1}}}
    return AllocationClaim(**{"consumer_uuid": a_uuid(), "project_id": "p1", "user_id": "u1",
                    "allocations": allocations, "fence": 1000, **values})  # fmt: skip


def test_claims_come_as_they_went() -> None:
    """Of any owner and any amount, in their order."""
    claims = [
        a_claim(),
        a_claim(user_id="u2", replace=True, fence=2000),
        a_claim(allocations={a_uuid(): {"resources": {"VCPU": 1, "DISK_GB": 5}},
                             a_uuid(): {"resources": {"VCPU": 1}}}),
        a_claim(consumer_type="MIGRATION"),
    ]  # fmt: skip
    assert sent(ClaimBatch.of(claims)).unpacked() == claims


def test_equal_owners_and_amounts_are_sent_once() -> None:
    """They are the same for most instances of a moment."""
    batch = ClaimBatch.of([a_claim(), a_claim(), a_claim(project_id="p2")])
    assert len(batch.owners) == 2
    assert batch.amounts == [{"resources": {"VCPU": 1}}]


@pytest.mark.parametrize(
    "row", [["c1", 1, 7, {}], ["c1", 1], ["c1", 1, 0, {"p1": 7}], ["c1", 1, 0, 5], 5],
    ids=["owner", "short", "amounts", "allocations", "number"],
)  # fmt: skip
def test_a_batch_that_makes_no_sense_is_refused(row: Any) -> None:
    """As a whole."""
    batch = ClaimBatch.of([a_claim()])
    batch.claims.append(row)
    with pytest.raises(exception.Invalid, match="malformed batch"):
        batch.unpacked()


def test_only_refusals_travel() -> None:
    """All others are known to stand."""
    uuids = [a_uuid() for _ in range(3)]
    refused = ClaimResult(consumer_uuid=uuids[1], status=ClaimStatus.NO_CAPACITY, reason="full")
    answers = sent(ClaimAnswers.of([ClaimResult(uuids[0]), refused, ClaimResult(uuids[2])]))
    assert answers.refused == [[1, "no_capacity", "full"]]
    found = answers.unpacked(uuids)
    assert [each.is_claimed for each in found] == [True, False, True]
    assert [each.consumer_uuid for each in found] == uuids
    assert found[1].reason == "full"


@pytest.mark.parametrize("item", [{}, 5, {"resources": [1]}, {"resources": {"VCPU": [1]}}], ids=str)
def test_what_placement_would_refuse_is_left_to_it(item: Any) -> None:
    """It says which consumer, and why."""
    claim = a_claim(allocations={a_uuid(): item})
    assert sent(ClaimBatch.of([claim])).unpacked() == [claim]
