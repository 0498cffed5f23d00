"""Pools are chosen as hosts are: by figures of placement, filters, weighers, claims."""

from typing import Any

import pytest

from objects.claims.resource_claim import ClaimState
from tests.fixtures.placement import placement_template, placement_url
from tests.fixtures.super_conductor.claims import ClaimPlane, claims

__all__ = ["claims", "placement_template", "placement_url"]


def placed(claims: ClaimPlane, *amounts_gb: int, **values: Any) -> list[str | None]:
    """Return the pools of claims of these amounts, one after the other."""
    return [
        claims.claim(resources={"DISK_GB": amount}, **values).pool_name for amount in amounts_gb
    ]


@pytest.fixture
def two(claims: ClaimPlane) -> None:
    """Have two storage pools of 1000 GiB."""
    for name in ("one", "two"):
        claims.add_pool(name, "storage", {"DISK_GB": 1000})


@pytest.mark.usefixtures("two")
def test_storage_is_spread_over_pools(claims: ClaimPlane) -> None:
    """The pool with the greater free share is better."""
    first, second, third = placed(claims, 500, 100, 100)
    assert first != second
    assert second == third


@pytest.mark.usefixtures("two")
def test_the_multiplier_of_a_weigher_is_an_option(claims: ClaimPlane) -> None:
    """A negative one fills a pool before the next."""
    claims.schedule_with(weight_multipliers=["storage.FreeShareWeigher=-1.0"])
    assert len(set(placed(claims, 100, 100, 100))) == 1


def test_licences_fill_one_pool_first(claims: ClaimPlane) -> None:
    """As their kind declares."""
    for name in ("one", "two"):
        claims.add_pool(name, "license", {"CUSTOM_LICENSE": 10})
    pools = {
        claims.claim(kind="license", resources={"CUSTOM_LICENSE": 2}).pool_name for _ in range(3)
    }
    assert len(pools) == 1


@pytest.mark.usefixtures("two")
def test_a_pool_is_full_of_claims(claims: ClaimPlane) -> None:
    """The option bounds their number, and the reason says so."""
    claims.schedule_with(pool_claims_max=1)
    assert set(placed(claims, 1, 1)) == {"one", "two"}
    refused = claims.claim(resources={"DISK_GB": 1})
    assert refused.state == ClaimState.ERROR
    assert "PoolClaimsFilter (has 1 claims, 1 are allowed)" in (refused.fault or "")


@pytest.mark.usefixtures("two")
def test_a_named_pool_or_none(claims: ClaimPlane) -> None:
    """It is the only one that is considered; an unknown one is named in the fault."""
    assert placed(claims, 1, 1, pool="two") == ["two", "two"]
    refused = claims.claim(pool="three")
    assert refused.fault == "No pool fits. There is no pool 'three' of the kind 'storage'."


@pytest.mark.usefixtures("two")
def test_a_pool_that_is_made_later_is_found(claims: ClaimPlane) -> None:
    """By the first claim that placement would give it."""
    assert placed(claims, 1) != [None]
    claims.add_pool("three", "storage", {"DISK_GB": 5000})
    assert placed(claims, 2000) == ["three"]


def test_the_scarcest_of_several_classes_counts(claims: ClaimPlane) -> None:
    """One pool serves all of a claim."""
    both = {"IPV4_ADDRESS": 10, "NET_BW_EGR_KILOBIT_PER_SEC": 1000}
    for name in ("one", "two"):
        claims.add_pool(name, "network", both)
    first = claims.claim(kind="network", resources={"IPV4_ADDRESS": 8}).pool_name
    second = claims.claim(
        kind="network", resources={"IPV4_ADDRESS": 1, **dict(both, IPV4_ADDRESS=1)}
    )
    assert second.pool_name != first
    (held,) = claims.held(second.uuid).values()
    assert held == {"IPV4_ADDRESS": 1, "NET_BW_EGR_KILOBIT_PER_SEC": 1000}
