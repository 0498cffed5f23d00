"""Consumers and allocations of a cell, attacked with the key of another cell's conductor."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from armillary import exception
from objects.allocations.allocation import AllocationClaim, ClaimStatus
from objects.instances.group_claim import GroupClaim, GroupRule
from objects.request_spec import CLAIM
from placement.interface import PlacementAPI
from placement.ledger.allocation_transaction import ConsumerWrite
from placement.providers.sharing import SHARING_TRAIT
from tests.builders import a_uuid
from tests.unit.placement.stolen_cell_keys.attacked_placement import (
    CELLS,
    CONTEXT,
    FENCE_HIGHEST,
    SignedPlacement,
    a_provider,
    claim,
    held,
    register,
)


def release(api: PlacementAPI, consumer: str, own: str) -> Any:
    return api.release(CONTEXT, {consumer: FENCE_HIGHEST})


def release_unchanged(api: PlacementAPI, consumer: str, own: str) -> Any:
    return release_unchanged_at(api, consumer, 1)


def release_unchanged_at(api: PlacementAPI, consumer: str, generation: int) -> Any:
    return api.release_unchanged(CONTEXT, {consumer: generation})


def move_away(api: PlacementAPI, consumer: str, own: str) -> Any:
    return api.move_allocations(CONTEXT, consumer, a_uuid(), fence=FENCE_HIGHEST)


@pytest.mark.parametrize("attack", [release, release_unchanged, move_away])
def test_a_stolen_cell_key_changes_no_consumer_of_another_cell(
    signed: SignedPlacement,
    consumer: str,
    own: str,
    attack: Callable[[PlacementAPI, str, str], Any],
    unharmed: Callable[[], None],
) -> None:
    """Its allocations and its fence stay; a high fence would refuse all later claims."""
    unharmed()
    with pytest.raises(exception.NotItsOwn, match=consumer):
        attack(signed.thief, consumer, own)


def test_a_stolen_cell_key_releases_nothing_beside_what_it_may_not(
    signed: SignedPlacement, consumer: str, own: str
) -> None:
    """Nothing is half-written."""
    mine = a_uuid()
    claim(signed.scheduler, mine, own)
    with pytest.raises(exception.NotItsOwn):
        signed.thief.release(CONTEXT, {mine: 5, consumer: 5})
    assert held(signed, mine) == {own}


@pytest.mark.parametrize("target", ["own", "provider"])
def test_a_stolen_cell_key_claims_nothing_for_a_consumer_of_another_cell(
    signed: SignedPlacement,
    consumer: str,
    target: str,
    unharmed: Callable[[], None],
    request: pytest.FixtureRequest,
) -> None:
    """Neither on its own provider, nor where the consumer is."""
    uuid = request.getfixturevalue(target)
    unharmed()
    assert claim(signed.thief, consumer, uuid, fence=FENCE_HIGHEST)[0] == ClaimStatus.FOREIGN


def test_a_stolen_cell_key_moves_nothing_onto_a_consumer_of_another_cell(
    signed: SignedPlacement, consumer: str, provider: str, own: str
) -> None:
    """Which would release what that has."""
    mine = a_uuid()
    claim(signed.scheduler, mine, own)
    with pytest.raises(exception.NotItsOwn, match=consumer):
        signed.thief.move_allocations(CONTEXT, mine, consumer, fence=9, replace=True)
    assert (held(signed, mine), held(signed, consumer)) == ({own}, {provider})


def test_a_stolen_cell_key_uses_no_provider_of_another_cell(
    signed: SignedPlacement, provider: str, own: str, unharmed: Callable[[], None]
) -> None:
    """For an instance of its own cell."""
    mine = a_uuid()
    claim(signed.scheduler, mine, own)
    unharmed()
    status, reason = claim(signed.thief, mine, own, provider, fence=2)
    assert status == ClaimStatus.FOREIGN
    assert provider in str(reason)


@pytest.mark.parametrize("is_known", [True, False], ids=["shelved", "never-seen"])
def test_a_stolen_cell_key_takes_over_no_consumer_without_allocations(
    signed: SignedPlacement, consumer: str, own: str, is_known: bool
) -> None:
    """Neither a shelved instance of another cell, nor one that is about to be scheduled."""
    if is_known:
        signed.victim.release(CONTEXT, {consumer: 2})
    else:
        consumer = a_uuid()
    assert claim(signed.thief, consumer, own, fence=FENCE_HIGHEST)[0] == ClaimStatus.FOREIGN
    if is_known:
        with pytest.raises(exception.NotItsOwn):
            signed.thief.release(CONTEXT, {consumer: FENCE_HIGHEST})
    else:
        signed.thief.release(CONTEXT, {consumer: FENCE_HIGHEST})
    assert claim(signed.scheduler, consumer, own, fence=3)[0] == ClaimStatus.CLAIMED


def member_claim(
    api: PlacementAPI, consumer: str, provider: str, group: GroupClaim, *, fence: int = 2,
    project: str = "p", user: str = "u",
) -> str:  # fmt: skip
    amounts = {provider: {"resources": {"VCPU": 1}}}
    wanted = AllocationClaim(consumer, project, user, amounts, fence, replace=True, group=group)
    return api.claim(CONTEXT, [wanted])[0].status


def test_a_stolen_cell_key_puts_no_member_into_a_server_group(
    signed: SignedPlacement, own: str, unharmed: Callable[[], None]
) -> None:
    """Which would refuse the claims of others on the host that it names."""
    mine, other, group = a_uuid(), register(signed.thief), a_uuid()
    claim(signed.scheduler, mine, own)
    unharmed()
    invented = GroupClaim("victims-host", group_uuid=group, rule=GroupRule.NOWHERE)
    assert member_claim(signed.thief, mine, other, invented) == ClaimStatus.FOREIGN


def test_a_stolen_cell_key_puts_no_member_on_a_host_of_another_cell(
    signed: SignedPlacement, provider: str, own: str, unharmed: Callable[[], None]
) -> None:
    """The members that are to be apart from it would not get that host; its own hosts it may."""
    mine, other, group = a_uuid(), register(signed.thief), a_uuid()
    joined = GroupClaim(f"provider-{own}", group_uuid=group, rule=GroupRule.HERE, limit=1)
    assert member_claim(signed.scheduler, mine, own, joined) == ClaimStatus.CLAIMED
    moved = GroupClaim(f"provider-{other}")
    assert member_claim(signed.thief, mine, other, moved, fence=3) == ClaimStatus.CLAIMED
    (member,) = signed.scheduler.list_group_members(CONTEXT, group)
    assert member.host == moved.host
    unharmed()
    away = GroupClaim(f"provider-{provider}")
    assert member_claim(signed.thief, mine, own, away, fence=4) == ClaimStatus.FOREIGN


@pytest.mark.parametrize("owner", [("q", "u"), ("p", "v")], ids=["project", "user"])
def test_a_stolen_cell_key_books_nothing_on_another_project(
    signed: SignedPlacement, own: str, owner: tuple[str, str], unharmed: Callable[[], None]
) -> None:
    """Whose usage would grow by instances that it does not have."""
    mine, other, (project, user) = a_uuid(), register(signed.thief), owner
    claim(signed.scheduler, mine, own)
    unharmed()
    here = GroupClaim(f"provider-{other}")
    status = member_claim(signed.thief, mine, other, here, project=project, user=user)
    assert status == ClaimStatus.FOREIGN


@pytest.mark.parametrize("owner", [("q", "u"), ("p", "v")], ids=["project", "user"])
@pytest.mark.parametrize("release", [release, release_unchanged])
def test_a_stolen_cell_key_books_nothing_released_on_another_project(
    signed: SignedPlacement,
    own: str,
    owner: tuple[str, str],
    release: Callable[[PlacementAPI, str, str], Any],
) -> None:
    """Though the consumer has no allocations then; its own project and user it may."""
    mine, (project, user), here = a_uuid(), owner, GroupClaim(f"provider-{own}")
    claim(signed.scheduler, mine, own)
    release(signed.thief, mine, own)
    assert held(signed, mine) == set()
    fence = FENCE_HIGHEST
    booked = member_claim(signed.thief, mine, own, here, fence=fence, project=project, user=user)
    assert booked == ClaimStatus.FOREIGN
    assert member_claim(signed.thief, mine, own, here, fence=fence) == ClaimStatus.CLAIMED


def test_a_stolen_cell_key_books_nothing_on_a_former_project(
    signed: SignedPlacement, own: str
) -> None:
    """Of a consumer that an operator gave to another one over the Placement API."""
    mine = a_uuid()
    claim(signed.scheduler, mine, own)
    given = ConsumerWrite(mine, {own: {"VCPU": 1}}, "q", "v")
    signed.manager.engine.consumer_writes.put([given])
    release_unchanged_at(signed.thief, mine, 2)
    assert claim(signed.thief, mine, own, fence=2)[0] == ClaimStatus.FOREIGN


def test_a_stolen_cell_key_moves_nothing_to_another_project(
    signed: SignedPlacement, own: str, unharmed: Callable[[], None]
) -> None:
    """By which a server would count for the project of the other one."""
    mine, other, here = a_uuid(), a_uuid(), GroupClaim(f"provider-{own}")
    claim(signed.scheduler, mine, own)
    member_claim(signed.scheduler, other, own, here, project="q", user="u")
    unharmed()
    with pytest.raises(exception.NotItsOwn, match="not of the same project"):
        signed.thief.move_allocations(CONTEXT, mine, other, fence=9, replace=True)


@pytest.mark.parametrize("attack", ["claim", "move"])
def test_a_stolen_cell_key_takes_nothing_out_of_a_projects_usage(
    signed: SignedPlacement, own: str, attack: str
) -> None:
    """As a claim on a pool, which does not count against the quota for servers."""
    mine, migration, other = a_uuid(), a_uuid(), register(signed.thief)
    claim(signed.scheduler, mine, own)
    signed.api("conductor").move_allocations(CONTEXT, mine, migration, fence=2)
    if attack == "claim":
        amounts = {other: {"resources": {"VCPU": 1}}}
        wanted = AllocationClaim(migration, "p", "u", amounts, 3, consumer_type=CLAIM, replace=True)
        assert signed.thief.claim(CONTEXT, [wanted])[0].status == ClaimStatus.FOREIGN
    else:
        with pytest.raises(exception.NotItsOwn, match="not of CLAIM"):
            signed.thief.move_allocations(CONTEXT, migration, mine, fence=3, consumer_type=CLAIM)


def test_a_stolen_cell_key_ends_no_claim_on_a_pool(
    signed: SignedPlacement, own: str, unharmed: Callable[[], None]
) -> None:
    """Though the pool is of its cell: claims are the super conductor's."""
    mine = a_uuid()
    wanted = AllocationClaim(
        mine, "p", "u", {own: {"resources": {"VCPU": 1}}}, 1, consumer_type=CLAIM
    )
    assert signed.scheduler.claim(CONTEXT, [wanted])[0].status == ClaimStatus.CLAIMED
    unharmed()
    with pytest.raises(exception.NotItsOwn, match="a claim on a pool"):
        signed.thief.release(CONTEXT, {mine: FENCE_HIGHEST})


def test_a_cell_writes_its_own_consumers(signed: SignedPlacement, own: str) -> None:
    """An alternate, a move and back, a shelve and unshelve, the end."""
    other, mine, migration = register(signed.thief), a_uuid(), a_uuid()
    fence = itertools.count(2)
    api = signed.thief
    claim(signed.scheduler, mine, own)
    assert claim(api, mine, other, fence=next(fence))[0] == ClaimStatus.CLAIMED
    signed.api("conductor").move_allocations(CONTEXT, mine, migration, fence=next(fence))
    assert claim(api, mine, own, fence=next(fence))[0] == ClaimStatus.CLAIMED
    for _ in range(2):
        api.move_allocations(CONTEXT, migration, mine, fence=next(fence), replace=True)
    assert held(signed, mine) == {other}
    api.release(CONTEXT, {mine: next(fence)})
    assert claim(api, mine, own, fence=next(fence))[0] == ClaimStatus.CLAIMED
    api.release(CONTEXT, {mine: FENCE_HIGHEST, migration: FENCE_HIGHEST})
    assert held(signed, mine) == set()


def test_a_pool_that_no_cell_owns_serves_the_instances_of_all(
    signed: SignedPlacement, consumer: str, provider: str, own: str
) -> None:
    """It has to share its inventory; and it makes no consumer another cell's."""
    pool = a_uuid()
    engine = signed.manager.engine
    engine.providers.set_providers([a_provider(pool)])
    assert claim(signed.victim, consumer, provider, pool, fence=2)[0] == ClaimStatus.FOREIGN
    engine.providers.set_trait(pool, SHARING_TRAIT, present=True)
    assert claim(signed.victim, consumer, provider, pool, fence=2)[0] == ClaimStatus.CLAIMED
    with pytest.raises(exception.NotItsOwn):
        signed.thief.release(CONTEXT, {consumer: 3})
    signed.victim.release(CONTEXT, {consumer: 3})
    alone = a_uuid()
    claim(signed.scheduler, alone, pool)
    with pytest.raises(exception.NotItsOwn):
        signed.thief.release(CONTEXT, {alone: 3})


# Moves between cells


def test_both_cells_of_a_move_write_its_consumers(
    signed: SignedPlacement, provider: str, own: str
) -> None:
    """As the super conductor says, until it says that the move has ended; and no third cell."""
    server, migration = a_uuid(), a_uuid()
    alternate, conductor = register(signed.thief), signed.api("conductor")
    claim(signed.scheduler, server, provider)
    conductor.move_allocations(CONTEXT, server, migration, fence=2)
    claim(signed.scheduler, server, own, fence=3)
    assert claim(signed.victim, server, alternate, fence=4)[0] == ClaimStatus.FOREIGN
    both = [CELLS["victim"], CELLS["thief"]]
    conductor.set_consumer_cells(CONTEXT, [server, migration], both)
    assert claim(signed.victim, server, alternate, fence=4)[0] == ClaimStatus.CLAIMED
    signed.victim.move_allocations(CONTEXT, migration, server, fence=5, replace=True)
    assert held(signed, server) == {provider}
    conductor.move_allocations(CONTEXT, server, migration, fence=6)
    claim(signed.scheduler, server, own, fence=7)
    conductor.set_consumer_cells(CONTEXT, [server], both[1:])
    signed.thief.release(CONTEXT, {migration: FENCE_HIGHEST})
    with pytest.raises(exception.NotItsOwn):
        signed.victim.release(CONTEXT, {server: FENCE_HIGHEST})
    assert (held(signed, server), held(signed, migration)) == ({own}, set())


@pytest.mark.parametrize("method", ["set_consumer_cells", "adopt_providers"])
def test_a_stolen_cell_key_gives_itself_nothing(
    signed: SignedPlacement, consumer: str, provider: str, method: str
) -> None:
    """Only the super conductor and an operator say what is whose."""
    mine = CELLS["thief"]
    arguments = ([consumer], [mine]) if method == "set_consumer_cells" else (mine, [provider])
    with pytest.raises(exception.Forbidden, match="may not call"):
        getattr(signed.thief, method)(CONTEXT, *arguments)
