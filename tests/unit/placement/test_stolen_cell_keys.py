"""A placement that requires signatures, attacked with the key of a cell's conductor."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import prometheus_client
import pytest

import objects
from armillary import exception
from armillary.context import admin_context
from armillary.db import Database
from objects.allocations.allocation import AllocationClaim, ClaimStatus
from objects.instances.group_claim import GroupClaim, GroupRule
from objects.packed.claim_batch import Claim
from objects.request_spec import CLAIM
from placement.interface import PlacementAPI
from placement.ledger.allocation_transaction import ConsumerWrite
from placement.manager import PlacementManager
from placement.providers.sharing import SHARING_TRAIT
from rpc.transport import Bus
from tests.builders import a_provider as a_named_provider
from tests.builders import a_uuid
from tests.fixtures.placement import ANSWER_SECONDS_MAX, placement_conf
from tests.fixtures.signing import Authority

CONTEXT = admin_context()
UNAUTHORIZED = {"topic": "placement", "reason": "unauthorized"}
FENCE_HIGHEST = 2**62
CELLS = {"victim": a_uuid(), "thief": a_uuid()}


class SignedPlacement:
    """A manager, and a client for the key of each role and cell."""

    def __init__(self, directory: Path, template: Path, *, is_required: bool = True) -> None:
        objects.register_all()
        self.authority = Authority(directory / "authority")
        for role in ("placement", "conductor", "scheduler", "operator"):
            self.authority.enrol(role)
        for name, uuid in CELLS.items():
            self.authority.enrol("cell_conductor", name=name, scope=uuid)
        self.conf, self.url = placement_conf(), f"kombu+memory:////{a_uuid()}"
        path = shutil.copy(template, directory / "placement.sqlite")
        self.database = Database(f"sqlite:///{path}", name="placement")
        signer = self.authority.signer("placement", is_required=is_required)
        self.buses = [Bus(self.conf, self.url, message_signer=signer)]
        self.manager = PlacementManager(self.conf, top_bus=self.buses[0], database=self.database)
        self.manager.start()
        self.servers = self.manager.servers()
        for server in self.servers:
            server.start()
        self.victim, self.thief = self.api("victim"), self.api("thief")
        self.scheduler = self.api("scheduler")

    def api(self, name: str | None) -> PlacementAPI:
        signer = None if name is None else self.authority.signer(name)
        self.buses.append(Bus(self.conf, self.url, message_signer=signer))
        return PlacementAPI(self.buses[-1], timeout_seconds=ANSWER_SECONDS_MAX)

    def stop(self) -> None:
        for server in self.servers:
            server.stop()
            server.wait()
        self.manager.stop(0.0)
        for bus in self.buses:
            bus.close()
        self.database.dispose()

    def state(self) -> tuple[Any, ...]:
        """Return all that placement knows, for comparison."""
        engine = self.manager.engine
        with self.database.reader() as session:
            fences = session.connection().exec_driver_sql("SELECT * FROM consumer_fences")
            providers = session.connection().exec_driver_sql("SELECT * FROM resource_providers")
            traits = session.connection().exec_driver_sql("SELECT * FROM resource_provider_traits")
            rows = [sorted(map(str, found)) for found in (fences, providers, traits)]
        return (*rows, engine.allocations.list(marker=None, limit=1000))


def refusals() -> float:
    name = "armillary_rpc_refused_total"
    return prometheus_client.REGISTRY.get_sample_value(name, UNAUTHORIZED) or 0.0


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory, placement_template: Path) -> Iterator[Any]:
    """Return a placement that requires signatures."""
    made = SignedPlacement(tmp_path_factory.mktemp("placement"), placement_template)
    yield made
    made.stop()


def a_provider(uuid: str, **values: Any) -> Any:
    """Return a report, which may be a wrong one."""
    return a_named_provider(f"provider-{uuid}", uuid=uuid, **values)


def register(api: PlacementAPI, **values: Any) -> str:
    """Register a provider with the key of a cell's conductor; return its UUID."""
    provider = a_provider(a_uuid(), **values)
    (result,) = api.set_providers(CONTEXT, [provider])
    assert result.error is None
    return str(provider["uuid"])


def claim(
    api: PlacementAPI, consumer: str, *providers: str, fence: int = 1, vcpus: int = 1
) -> tuple[str, str | None]:
    wanted = AllocationClaim.from_values(
        consumer_uuid=consumer, project_id="p", user_id="u", fence=fence, replace=True,
        allocations={uuid: {"resources": {"VCPU": vcpus}} for uuid in providers},
    )  # fmt: skip
    (result,) = api.claim(CONTEXT, [wanted])
    return result.status, result.reason


def held(signed: SignedPlacement, consumer: str) -> set[str]:
    return set(signed.api("conductor").get_allocations(CONTEXT, [consumer]).get(consumer, {}))


@pytest.fixture
def provider(signed: SignedPlacement) -> str:
    """Return a provider of the victim's cell."""
    return register(signed.victim)


@pytest.fixture
def own(signed: SignedPlacement) -> str:
    """Return a provider of the thief's cell."""
    return register(signed.thief)


@pytest.fixture
def consumer(signed: SignedPlacement, provider: str) -> str:
    """Return an instance that a scheduler put on the victim's provider."""
    made = a_uuid()
    assert claim(signed.scheduler, made, provider)[0] == ClaimStatus.CLAIMED
    return made


@pytest.fixture
def unharmed(signed: SignedPlacement) -> Iterator[Callable[[], None]]:
    """Return what checks that an attack changed nothing, and that its refusal was counted."""
    before: list[Any] = []

    def attack() -> None:
        before[:] = [signed.state(), refusals()]

    yield attack
    assert before[0] == signed.state()
    assert refusals() == before[1] + 1


# Providers


def rewritten(provider: str, **values: Any) -> Any:
    return a_provider(provider, **{"inventories": {"VCPU": {"total": 999}}, **values})


def test_a_stolen_cell_key_rewrites_no_provider_of_another_cell(
    signed: SignedPlacement, provider: str, own: str, unharmed: Callable[[], None]
) -> None:
    """The others of the same report are stored, and it learns nothing of the one refused."""
    unharmed()
    reports = [a_provider(own), rewritten(provider, traits=["HW_NUMA_ROOT"])]
    stored, refused = signed.thief.set_providers(CONTEXT, reports)
    assert stored.error is None
    assert "belongs to another cell" in str(refused.error)
    assert (refused.generation, refused.inventories) == (None, {})


def test_a_stolen_cell_key_learns_nothing_of_a_provider_in_use(
    signed: SignedPlacement, provider: str, consumer: str, unharmed: Callable[[], None]
) -> None:
    """A report without a class that is in use is refused for its sender first."""
    assert consumer
    unharmed()
    (result,) = signed.thief.set_providers(CONTEXT, [rewritten(provider, inventories={})])
    assert "belongs to another cell" in str(result.error)
    assert (result.generation, result.inventories) == (None, {})


@pytest.mark.parametrize("is_child", [False, True])
def test_a_stolen_cell_key_keeps_no_host_out_by_its_name(
    signed: SignedPlacement, is_child: bool
) -> None:
    """Neither by the name itself, nor by what it is stored under then; nor learns it of others."""
    root, uuid, name = a_uuid(), a_uuid(), f"node-{a_uuid()}"
    squatter = a_uuid()
    squatting: list[Any] = [{**a_provider(squatter), "name": name}, a_provider(a_uuid())]
    report: Any = {**a_provider(uuid), "name": name}
    if is_child:
        report = a_provider(root, children=[{**report, "parent_uuid": root}])
    assert [one.error for one in signed.thief.set_providers(CONTEXT, squatting)] == [None, None]
    for _ in range(2):
        (result,) = signed.victim.set_providers(CONTEXT, [report])
        assert result.error is None
    engine = signed.manager.engine.resource_providers
    assert engine.get(uuid).name == f"{name} {uuid}"
    signed.thief.delete_provider(CONTEXT, squatter)
    signed.victim.set_providers(CONTEXT, [report])
    assert engine.get(uuid).name == name


def test_a_stolen_cell_key_reads_no_allocation_of_another_cell(
    signed: SignedPlacement, consumer: str, provider: str, own: str
) -> None:
    """Neither by the consumer nor by the provider; but its own ones, and those that move to it."""
    mine = a_uuid()
    claim(signed.scheduler, mine, own)
    asked = [consumer, mine]
    assert signed.thief.get_allocations(CONTEXT, asked).keys() == {mine}
    assert signed.thief.get_provider_allocations(CONTEXT, [provider, own]).keys() == {own}
    assert signed.api("conductor").get_allocations(CONTEXT, asked).keys() == {consumer, mine}
    both = [CELLS["victim"], CELLS["thief"]]
    signed.api("conductor").set_consumer_cells(CONTEXT, [consumer], both)
    assert signed.thief.get_allocations(CONTEXT, asked).keys() == {consumer, mine}


def test_a_stolen_cell_key_takes_no_provider_into_its_trees(
    signed: SignedPlacement, provider: str, own: str
) -> None:
    """As a child, a former child to delete, or by a reshape: the report is refused as a whole."""
    child = rewritten(provider, parent_uuid=own)
    before = signed.state()
    (result,) = signed.thief.set_providers(CONTEXT, [rewritten(own, children=[child])])
    assert result.error
    former = a_provider(own, children=[], former_children=[provider])
    signed.thief.set_providers(CONTEXT, [former])
    (result,) = signed.thief.set_providers(CONTEXT, [rewritten(provider, reshape=True)])
    assert result.error
    assert signed.state() == before


@pytest.mark.parametrize("present", [True, False])
def test_a_stolen_cell_key_sets_no_trait_of_another_cells_provider(
    signed: SignedPlacement, provider: str, unharmed: Callable[[], None], present: bool
) -> None:
    """Which would take a host out of service, or put it back."""
    unharmed()
    with pytest.raises(exception.NotItsOwn, match=provider):
        signed.thief.set_trait(CONTEXT, provider, "COMPUTE_STATUS_DISABLED", present=present)


@pytest.mark.parametrize("trait", [SHARING_TRAIT, "CUSTOM_POOL_STORAGE"])
def test_a_stolen_cell_key_lets_no_provider_serve_other_hosts(
    signed: SignedPlacement, own: str, unharmed: Callable[[], None], trait: str
) -> None:
    """Which would draw what is for hosts of other cells, or claims, to one of its own."""
    engine = signed.manager.engine
    engine.traits.ensure("CUSTOM_POOL_STORAGE")
    child = a_provider(a_uuid(), traits=[trait], parent_uuid=own)
    for report in (a_provider(own, traits=[trait]), a_provider(own, children=[child])):
        unharmed_now = signed.state()
        (result,) = signed.thief.set_providers(CONTEXT, [report])
        assert "operators set the trait" in str(result.error)
        assert signed.state() == unharmed_now
    unharmed()
    with pytest.raises(exception.NotItsOwn, match="operators set the trait"):
        signed.thief.set_trait(CONTEXT, own, trait, present=True)


def test_a_cell_leaves_the_traits_that_operators_set(signed: SignedPlacement, own: str) -> None:
    """An operator may let a host share: the host's later reports change nothing of that."""
    engine = signed.manager.engine
    engine.providers.set_trait(own, SHARING_TRAIT, present=True)
    (result,) = signed.thief.set_providers(CONTEXT, [a_provider(own, traits=["HW_NUMA_ROOT"])])
    assert result.error is None
    dropping = a_provider(own, managed_traits=[SHARING_TRAIT])
    (result,) = signed.thief.set_providers(CONTEXT, [dropping])
    assert "operators set the trait" in str(result.error)
    assert engine.traits.get_of(own).traits == {SHARING_TRAIT, "HW_NUMA_ROOT"}


def test_a_stolen_cell_key_deletes_no_provider_of_another_cell(
    signed: SignedPlacement, provider: str, unharmed: Callable[[], None]
) -> None:
    """Though it is unused."""
    unharmed()
    with pytest.raises(exception.NotItsOwn, match=provider):
        signed.thief.delete_provider(CONTEXT, provider)


def test_a_cell_registers_changes_and_deletes_its_own(signed: SignedPlacement) -> None:
    """With children, traits, and a second time."""
    own = register(signed.victim)
    child = a_provider(a_uuid(), parent_uuid=own)
    for children in ([child], [child], []):
        report = a_provider(own, children=children, former_children=[child["uuid"]])
        (result,) = signed.victim.set_providers(CONTEXT, [report])
        assert result.error is None
    signed.victim.set_trait(CONTEXT, own, "COMPUTE_STATUS_DISABLED", present=True)
    signed.victim.delete_provider(CONTEXT, own)
    register(signed.thief)


def test_what_no_cell_owns_belongs_to_no_cell(
    signed: SignedPlacement, unharmed: Callable[[], None]
) -> None:
    """A provider that was made in the Placement API is an operator's to give away."""
    made = a_uuid()
    signed.manager.engine.resource_providers.create(made, f"pool-{made}")
    unharmed()
    (result,) = signed.thief.set_providers(CONTEXT, [rewritten(made)])
    assert "adopt-providers" in str(result.error)


def test_what_the_placement_api_adds_to_a_tree_is_that_cells(
    signed: SignedPlacement, provider: str
) -> None:
    """Another one cannot claim there."""
    child = a_uuid()
    signed.manager.engine.resource_providers.create(child, f"nic-{child}", provider)
    (result,) = signed.thief.set_providers(CONTEXT, [rewritten(child)])
    assert "belongs to another cell" in str(result.error)


def test_a_part_of_a_host_is_not_a_host(signed: SignedPlacement, provider: str) -> None:
    """An agent that knows its UUID could report it as its own in the same cell."""
    child = a_provider(a_uuid(), parent_uuid=provider)
    signed.victim.set_providers(CONTEXT, [a_provider(provider, children=[child])])
    before = signed.state()
    (result,) = signed.victim.set_providers(CONTEXT, [rewritten(child["uuid"])])
    assert "a part of another one" in str(result.error)
    assert signed.state() == before
    rack = a_uuid()
    engine = signed.manager.engine.resource_providers
    engine.create(rack, f"rack-{rack}")
    engine.update(provider, f"provider-{provider}", rack, may_reparent=True)
    (result,) = signed.victim.set_providers(CONTEXT, [a_provider(provider)])
    assert result.error is None  # below one that an operator made


# Consumers


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
    wanted = Claim(consumer, project, user, amounts, fence, replace=True, group=group)
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
        wanted = Claim(migration, "p", "u", amounts, 3, consumer_type=CLAIM, replace=True)
        assert signed.thief.claim(CONTEXT, [wanted])[0].status == ClaimStatus.FOREIGN
    else:
        with pytest.raises(exception.NotItsOwn, match="not of CLAIM"):
            signed.thief.move_allocations(CONTEXT, migration, mine, fence=3, consumer_type=CLAIM)


def test_a_stolen_cell_key_ends_no_claim_on_a_pool(
    signed: SignedPlacement, own: str, unharmed: Callable[[], None]
) -> None:
    """Though the pool is of its cell: claims are the super conductor's."""
    mine = a_uuid()
    wanted = Claim(mine, "p", "u", {own: {"resources": {"VCPU": 1}}}, 1, consumer_type=CLAIM)
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


# Changing over


def test_an_operator_gives_providers_to_a_cell(signed: SignedPlacement, provider: str) -> None:
    """Those that no cell owns, with what is below; those of another cell only if he says so."""
    engine, operator = signed.manager.engine, signed.api("operator")
    root, child = a_uuid(), a_uuid()
    engine.resource_providers.create(root, f"root-{root}")
    engine.resource_providers.create(child, f"child-{child}", root)
    mine, asked = CELLS["thief"], [root, provider, a_uuid()]
    assert operator.adopt_providers(CONTEXT, mine, asked) == sorted([root, child])
    assert operator.adopt_providers(CONTEXT, mine, asked) == []
    (result,) = signed.thief.set_providers(CONTEXT, [a_provider(root)])
    assert result.error is None
    assert operator.adopt_providers(CONTEXT, mine, asked, replace=True) == [provider]
    with pytest.raises(exception.NotItsOwn):
        signed.victim.delete_provider(CONTEXT, provider)


def test_a_cell_adopts_what_has_no_owner_while_unsigned_messages_are_accepted(
    tmp_path: Path, placement_template: Path
) -> None:
    """By its next report: then it is that cell's alone."""
    accepting = SignedPlacement(tmp_path, placement_template, is_required=False)
    try:
        made = register(accepting.api(None))
        uuid = a_uuid()
        claim(accepting.scheduler, uuid, made)
        assert accepting.victim.set_providers(CONTEXT, [a_provider(made)])[0].error is None
        (result,) = accepting.thief.set_providers(CONTEXT, [rewritten(made)])
        assert "belongs to another cell" in str(result.error)
        with pytest.raises(exception.NotItsOwn):
            accepting.thief.release(CONTEXT, {uuid: 2})
        accepting.victim.release(CONTEXT, {uuid: 2})
    finally:
        accepting.stop()
