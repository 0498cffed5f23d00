"""The ledger: what becomes of claims, releases and moves, decided without a database."""

import dataclasses
from typing import Any

import pytest

from armillary import exception
from objects.allocations.allocation import AllocationClaim, ClaimStatus
from placement.ledger.ledger import Account, Holding, Ledger, Provider
from placement.providers.inventory import Inventory
from tests.builders import a_claim

ME, YOU = "c0ffee00-0000-4000-8000-000000000001", "c0ffee00-0000-4000-8000-000000000002"
P1, P2 = "c0ffee00-0000-4000-8000-0000000000f1", "c0ffee00-0000-4000-8000-0000000000f2"


def changed_providers(ledger: Ledger) -> set[str]:
    """Return the providers whose generation was incremented."""
    return {uuid for uuid, provider in ledger.providers.items() if provider.steps}


def a_holding(provider: str, vcpus: int, generation: int = 1) -> Holding:
    return Holding("INSTANCE", "p1", "u1", {provider: {"VCPU": vcpus}}, generation)


def a_ledger(
    *,
    me: Holding | None = None,
    you: Holding | None = None,
    fences: dict[str, int] | None = None,
    total: int = 8,
) -> Ledger:
    """Return a ledger of two consumers and two providers with these holdings booked."""
    providers = {}
    for number, uuid in enumerate((P1, P2)):
        used = sum(held.amounts.get(uuid, {}).get("VCPU", 0) for held in (me, you) if held)
        account = Account(1, Inventory(total, 0, 1, total, 1, 1.0), used)
        providers[uuid] = Provider(number, f"host{number + 1}", {"VCPU": account})
    return Ledger(holdings={ME: me, YOU: you}, fences=dict(fences or {}), providers=providers)


def mine(provider: str = P1, vcpus: int = 1, **values: Any) -> AllocationClaim:
    return a_claim(provider, vcpus, consumer_uuid=ME, **values)


def used(ledger: Ledger) -> dict[str, int]:
    return {uuid: item.accounts["VCPU"].used for uuid, item in ledger.providers.items()}


def is_untouched(ledger: Ledger) -> bool:
    return not (ledger.changed_consumers | ledger.changed_accounts | ledger.changed_fences)


def test_a_claim_is_booked() -> None:
    """The consumer holds it, the provider has less, the fence is remembered."""
    ledger = a_ledger()
    assert ledger.claim(mine(vcpus=3, fence=7)).status == ClaimStatus.CLAIMED
    assert ledger.holdings[ME] == a_holding(P1, 3)
    assert (used(ledger), ledger.fences) == ({P1: 3, P2: 0}, {ME: 7})
    assert changed_providers(ledger) == {P1}


def test_the_same_claim_again_changes_nothing() -> None:
    """A message may arrive twice."""
    ledger = a_ledger(me=a_holding(P1, 3), fences={ME: 7})
    assert ledger.claim(mine(vcpus=3, fence=7)).status == ClaimStatus.CLAIMED
    assert is_untouched(ledger)


def test_the_same_claim_of_a_later_attempt_raises_the_fence_only() -> None:
    """Earlier attempts are kept out from now on."""
    ledger = a_ledger(me=a_holding(P1, 3), fences={ME: 7})
    assert ledger.claim(mine(vcpus=3, fence=8)).status == ClaimStatus.CLAIMED
    assert (ledger.fences, ledger.changed_accounts) == ({ME: 8}, set())


def test_a_replacing_claim_swaps_in_one_step() -> None:
    """What was held is given back, the generation goes up."""
    ledger = a_ledger(me=a_holding(P1, 3, generation=4))
    assert ledger.claim(mine(P2, 5, replace=True)).status == ClaimStatus.CLAIMED
    assert used(ledger) == {P1: 0, P2: 5}
    assert ledger.holdings[ME] == a_holding(P2, 5, generation=5)
    assert changed_providers(ledger) == {P1, P2}


def test_a_replacing_claim_may_use_what_it_gives_back() -> None:
    """Growing on a full provider counts the difference only."""
    ledger = a_ledger(me=a_holding(P1, 6), you=a_holding(P1, 1))
    assert ledger.claim(mine(P1, 7, replace=True)).is_claimed
    assert not ledger.claim(mine(P1, 8, replace=True)).is_claimed


def test_a_replacing_claim_may_shrink_where_too_much_is_used() -> None:
    """The provider's owner made it smaller than what is held."""
    ledger = a_ledger(me=a_holding(P1, 6), you=a_holding(P1, 4))
    assert not ledger.claim(mine(P1, 7, replace=True)).is_claimed
    assert ledger.claim(mine(P1, 5, replace=True)).is_claimed
    assert used(ledger)[P1] == 9


@pytest.mark.parametrize(
    ("claim", "status", "reason"),
    [
        (mine(vcpus=6), ClaimStatus.NO_CAPACITY, "VCPU on host1: 6 asked, 5 free"),
        (
            mine(allocations={P1: {"resources": {"DISK_GB": 1}}}),
            ClaimStatus.NO_CAPACITY,
            "host1 has no DISK_GB",
        ),
        (mine(YOU), ClaimStatus.NO_PROVIDER, f"no provider {YOU} exists"),
        (mine(fence=4), ClaimStatus.FENCED, "fence 5 was seen, so this claim with fence 4 is late"),
        (
            mine(allocations={P2: {"resources": {"VCPU": 1}}, P1: {"resources": {"VCPU": 9}}}),
            ClaimStatus.NO_CAPACITY,
            "VCPU on host1: 9 asked, more than max_unit 8",
        ),
    ],
    ids=["full", "no such class", "no such provider", "late", "half fits"],
)
def test_a_refused_claim_leaves_no_mark(claim: AllocationClaim, status: str, reason: str) -> None:
    """Nothing is to be written, not even the fence."""
    claim = dataclasses.replace(claim, fence=claim.fence or 6)
    ledger = a_ledger(you=a_holding(P1, 3), fences={ME: 5})
    result = ledger.claim(claim)
    assert (result.status, result.reason) == (status, reason)
    assert is_untouched(ledger)
    assert used(ledger) == {P1: 3, P2: 0}


def test_a_claim_that_may_not_replace_conflicts() -> None:
    """What the consumer holds stays."""
    ledger = a_ledger(me=a_holding(P1, 3))
    assert ledger.claim(mine(P2)).status == ClaimStatus.CONFLICT
    assert is_untouched(ledger)


def test_claims_of_one_batch_see_each_other() -> None:
    """The last piece goes to the first who asks."""
    ledger = a_ledger(total=1)
    first = ledger.claim(mine())
    second = ledger.claim(a_claim(P1, consumer_uuid=YOU))
    assert [first.status, second.status] == [ClaimStatus.CLAIMED, ClaimStatus.NO_CAPACITY]


def test_a_release_drops_everything_and_keeps_late_claims_out() -> None:
    """The fence stays when the consumer is gone."""
    ledger = a_ledger(me=a_holding(P1, 3))
    ledger.release(ME, 9)
    assert (ledger.holdings[ME], used(ledger)[P1]) == (None, 0)
    assert ledger.claim(mine(fence=8)).status == ClaimStatus.FENCED
    assert ledger.claim(mine(fence=9)).status == ClaimStatus.CLAIMED


def test_a_release_of_nothing_still_keeps_late_claims_out() -> None:
    """The claim may be on its way."""
    ledger = a_ledger()
    ledger.release(ME, 9)
    assert ledger.claim(mine(fence=8)).status == ClaimStatus.FENCED


def test_a_late_release_does_not_hurt_a_later_attempt() -> None:
    """Who was given up may not give up for others."""
    ledger = a_ledger(me=a_holding(P1, 3), fences={ME: 2000})
    ledger.release(ME, 1000)
    assert ledger.holdings[ME] == a_holding(P1, 3)
    assert is_untouched(ledger)


def test_a_repeated_release_is_remembered_again() -> None:
    """Its fence is kept for its time from the last release on."""
    ledger = a_ledger(fences={ME: 9})
    ledger.release(ME, 9)
    assert ledger.changed_fences == {ME}


def test_a_move_gives_everything_to_the_target() -> None:
    """Usage stays, the generation begins again, providers get another."""
    ledger = a_ledger(me=a_holding(P1, 3, generation=5))
    ledger.move(ME, YOU, 7)
    assert ledger.holdings == {ME: None, YOU: a_holding(P1, 3)}
    assert used(ledger) == {P1: 3, P2: 0}
    assert ledger.fences == {ME: 7, YOU: 7}
    assert changed_providers(ledger) == {P1}


def test_a_move_done_twice_is_done() -> None:
    """The second finds its work done."""
    ledger = a_ledger(you=a_holding(P1, 3), fences={ME: 7, YOU: 7})
    ledger.move(ME, YOU, 7)
    assert is_untouched(ledger)


def test_a_move_of_nothing_to_no_consumer_is_an_error() -> None:
    """Neither holds anything."""
    with pytest.raises(exception.ConsumerNotFound, match=ME):
        a_ledger().move(ME, YOU, 1)


def test_a_move_onto_a_consumer_with_allocations_is_a_conflict() -> None:
    """Nothing is merged, nothing is lost."""
    ledger = a_ledger(me=a_holding(P1, 3), you=a_holding(P2, 1))
    with pytest.raises(exception.ConsumerGenerationConflict, match=YOU):
        ledger.move(ME, YOU, 1)
    assert is_untouched(ledger)


def test_a_replacing_move_gives_up_what_the_target_holds() -> None:
    """On a full provider, too; the target keeps counting its generations."""
    ledger = a_ledger(me=a_holding(P1, 3), you=a_holding(P2, 8, generation=5), total=8)
    ledger.move(ME, YOU, 7, is_replacing=True)
    assert ledger.holdings == {ME: None, YOU: a_holding(P1, 3, generation=6)}
    assert used(ledger) == {P1: 3, P2: 0}
    assert changed_providers(ledger) == {P1, P2}


def test_a_replacing_move_done_twice_is_done() -> None:
    """What the target was given is not given up."""
    ledger = a_ledger(you=a_holding(P1, 3), fences={ME: 7, YOU: 7})
    ledger.move(ME, YOU, 7, is_replacing=True, consumer_type="MIGRATION")
    assert is_untouched(ledger)


@pytest.mark.parametrize("fenced", [ME, YOU], ids=["source", "target"])
def test_a_late_replacing_move_is_a_conflict(fenced: str) -> None:
    """It gives nothing up."""
    ledger = a_ledger(me=a_holding(P1, 3), you=a_holding(P2, 1), fences={fenced: 9})
    with pytest.raises(exception.ConsumerGenerationConflict, match=fenced):
        ledger.move(ME, YOU, 8, is_replacing=True)
    assert is_untouched(ledger)


@pytest.mark.parametrize(("asked", "got"), [("MIGRATION", "MIGRATION"), (None, "INSTANCE")])
def test_the_target_of_a_move_has_the_type_that_is_asked_for(asked: str | None, got: str) -> None:
    """Or that of the source."""
    ledger = a_ledger(me=a_holding(P1, 3))
    ledger.move(ME, YOU, 7, consumer_type=asked)
    held = ledger.holdings[YOU]
    assert held is not None
    assert held.consumer_type == got


@pytest.mark.parametrize("fenced", [ME, YOU], ids=["source", "target"])
def test_a_late_move_is_a_conflict(fenced: str) -> None:
    """A later attempt was at one of the two."""
    ledger = a_ledger(me=a_holding(P1, 3), fences={fenced: 9})
    with pytest.raises(exception.ConsumerGenerationConflict, match=fenced):
        ledger.move(ME, YOU, 8)
    assert is_untouched(ledger)
