"""Claims leave lines in placement's log."""

import logging

import pytest

from objects.allocations.allocation import AllocationClaim, ClaimResult, ClaimStatus
from placement.claim_log import log_claims


def test_claims_are_logged_with_what_they_took(caplog: pytest.LogCaptureFixture) -> None:
    """The granted ones together, the refused ones with the reason; bounded."""
    allocations = {"host": {"resources": {"VCPU": 2, "MEMORY_MB": 512}}}
    claims = [AllocationClaim(f"c{number}", "p", "u", allocations) for number in range(103)]
    results = [ClaimResult(claim.consumer_uuid) for claim in claims]
    results[1] = ClaimResult("c1", ClaimStatus.NO_CAPACITY, "2 VCPU asked, 1 free")
    with caplog.at_level(logging.INFO):
        log_claims(claims, results)
    granted, refused = (record.getMessage() for record in caplog.records)
    assert granted.startswith("102 claimed: c0: VCPU=2 MEMORY_MB=512 of host; c2: ")
    assert granted.endswith(" and 2 more")
    assert refused == (
        "c1: VCPU=2 MEMORY_MB=512 of host: claim refused (no_capacity): 2 VCPU asked, 1 free"
    )
