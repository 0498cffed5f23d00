"""Orphans among the consumers of claims."""

from tests import builders
from tests.fixtures.control_plane import an_admin
from tests.fixtures.placement import placement_template, placement_url
from tests.fixtures.super_conductor.claims import ClaimPlane, claims

__all__ = ["claims", "placement_template", "placement_url"]


def test_a_consumer_of_a_pool_without_a_claim_is_an_orphan(claims: ClaimPlane) -> None:
    """One that holds nothing of a pool may be of another service."""
    pool = claims.add_pool("large", "storage", {"DISK_GB": 1000})
    known = claims.claim().uuid
    lost, foreign = builders.a_uuid(), builders.a_uuid()
    asked = {known: [pool], lost: [pool], foreign: [builders.a_uuid()]}
    found = claims.orphans.find_orphan_claims(an_admin(), asked)
    assert (found.orphans, found.foreign) == ([lost], [foreign])
