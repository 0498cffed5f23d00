"""Quotas of claims: their number and amounts, for each project."""

import pytest

from armillary import exception
from tests.fixtures.control_plane import PROJECT, a_user, an_admin
from tests.fixtures.placement import placement_template, placement_url
from tests.fixtures.super_conductor.claims import ClaimPlane, claims

__all__ = ["claims", "placement_template", "placement_url"]


@pytest.fixture
def limited(claims: ClaimPlane) -> ClaimPlane:
    """Have a large pool, and limits of the project."""
    claims.add_pool("large", "storage", {"DISK_GB": 10_000})
    limits = {"claims": 2, "claims:DISK_GB": 150}
    claims.endpoint.update_claim_quotas(an_admin(), PROJECT, limits)
    return claims


def test_amounts_are_limited(limited: ClaimPlane) -> None:
    """What a claim in ERROR asked for does not count; its number does."""
    limited.claim(resources={"DISK_GB": 100})
    with pytest.raises(exception.QuotaExceeded, match=r"claims:DISK_GB: requested 51.* 100 of 150"):
        limited.create(resources={"DISK_GB": 51})
    assert len(limited.endpoint.list_claims(a_user())) == 1
    limited.claim(resources={"DISK_GB": 50}, required_traits=["CUSTOM_NOWHERE"])
    quotas = limited.endpoint.get_claim_quotas(a_user(), PROJECT)
    assert quotas["claims:DISK_GB"] == {"limit": 150, "in_use": 100}
    with pytest.raises(exception.QuotaExceeded, match="claims: requested 1"):
        limited.create(resources={"DISK_GB": 1})


def test_an_ended_claim_counts_no_more(limited: ClaimPlane) -> None:
    """As soon as it is released."""
    made = limited.claim(resources={"DISK_GB": 150})
    limited.endpoint.delete_claim(a_user(), made.uuid)
    limited.plane.settle()
    assert limited.claim(resources={"DISK_GB": 150}).pool_name == "large"


def test_claims_cross_in_pages_of_the_own_project(limited: ClaimPlane) -> None:
    """Of no size that a caller chooses; no other project may name them as a marker."""
    first, second = (limited.claim(resources={"DISK_GB": 1}) for _ in range(2))
    listed = limited.endpoint.list_claims
    uuids = [one.uuid for one in listed(a_user())]
    assert sorted(uuids) == sorted([first.uuid, second.uuid])
    (one,) = listed(a_user(), limit=1)
    (other,) = listed(a_user(), limit=10**9, marker=one.uuid)
    assert [one.uuid, other.uuid] == uuids
    assert listed(a_user(), marker=other.uuid) == []
    assert listed(a_user(), limit=-1) == []
    with pytest.raises(exception.ClaimNotFound):
        listed(a_user("another"), marker=one.uuid)


@pytest.mark.parametrize("name", ["instances", "claims:", "claims:disk", "claim"])
def test_other_names_are_refused(limited: ClaimPlane, name: str) -> None:
    """Those of servers have another place."""
    with pytest.raises(exception.Invalid, match="unknown quota"):
        limited.endpoint.update_claim_quotas(an_admin(), PROJECT, {name: 1})
