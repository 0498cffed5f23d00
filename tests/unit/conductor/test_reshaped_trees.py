"""Trees of providers that take another shape in use: allocations move along."""

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from armillary.context import admin_context
from armillary.db import Database
from objects.allocations.allocation import ClaimStatus
from placement.db import provider_tree
from placement.db.preparation import SCHEMA
from placement.engine import PlacementEngine
from placement.manager import PlacementManager
from tests import builders
from tests.fixtures.cell import Cell, a_node, node_uuid
from tests.fixtures.messages.direct_bus import Killed
from tests.fixtures.placement import engines, placement_conf
from tests.fixtures.placement.placement_examiner import Examiner
from tests.fixtures.services.databases import NewTables, on_one_server
from tests.unit.conductor.common.cell_db.test_provider_trees import (
    AWAY,
    a_child,
    report,
    traits,
    tree,
)

ON_ENGINES = ["sqlite", *on_one_server("reshaped trees")]
pytestmark = [
    pytest.mark.parametrize("any_tables", ON_ENGINES, indirect=True),
    pytest.mark.sampled_tests(every=3),
]

SLOT = "CUSTOM_SLOT"
SLOTS = {SLOT: {"total": 4, "max_unit": 4}}
TURNS = 6
CLAIMERS = 2


@pytest.fixture
def url(any_tables: NewTables) -> str:
    """Return the URL of a placement's database."""
    return any_tables(SCHEMA)


@pytest.fixture
def engine(cell: Cell, url: str) -> Iterator[PlacementEngine]:
    """Return a real placement that serves a cell with a host ``a``; in the end all sums agree."""
    database = Database(url, name="placement")
    manager = PlacementManager(placement_conf(), top_bus=cell.top_bus, database=database)
    cell.top_bus.endpoints["placement", None] = [manager]
    cell.add_agent("a")
    yield manager.engine
    examiner = Examiner(database)
    examiner.check_rows()
    examiner.examine(manager.engine)
    database.dispose()


def a_node_with(**inventories: Any) -> dict[str, Any]:
    """Return the inventories of a host, with these beside the usual ones."""
    return {**a_node("a").inventories, **inventories}


def in_cells(total: int) -> list[dict[str, Any]]:
    """Return two NUMA cells that have slots."""
    slots = {SLOT: {"total": total, "max_unit": total}}
    return [a_child(f"a_NUMA{number}", inventories=slots) for number in (0, 1)]


def reshaped(cell: Cell, *children: dict[str, Any], **values: Any) -> str | None:
    """Report host a as an agent does that has just started; return the error."""
    node = a_node("a", child_providers=list(children), **values)
    (result,) = cell.nodes.report_compute_nodes(admin_context(), "a", [node], reshape=[node.uuid])
    error: str | None = result.error
    return error


def held(engine: PlacementEngine) -> dict[str, dict[str, dict[str, int]]]:
    """Return provider -> class -> amount, of each consumer."""
    items = engine.allocations.list(marker=None, limit=100)
    found = engine.allocations.get([item.consumer_uuid for item in items])
    return {
        consumer: {uuid: item["resources"] for uuid, item in providers.items()}
        for consumer, providers in found.items()
    }


def hold_slots(engine: PlacementEngine, *amounts: int) -> list[str]:
    """Let consumers hold slots of the host, and a CPU; return them in the order of their UUIDs."""
    consumers = sorted(builders.a_uuid() for _ in amounts)
    for consumer, amount in zip(consumers, amounts, strict=True):
        allocations = {node_uuid("a"): {"resources": {SLOT: amount, "VCPU": 1}}}
        (result,) = engine.claims.claim(
            [builders.a_claim("", consumer_uuid=consumer, allocations=allocations)]
        )
        assert result.is_claimed, result.reason
    return consumers


def test_a_tree_in_use_takes_another_shape_with_what_is_allocated(
    cell: Cell, engine: PlacementEngine
) -> None:
    """When the agent starts, and only then; from the host to its cells."""
    report(cell, inventories=a_node_with(**SLOTS))
    one, two = hold_slots(engine, 2, 2)
    cells = in_cells(2)
    assert SLOT in str(report(cell, *cells))
    assert set(tree(engine)) == {"a"}
    before = {
        one: engine.allocations.get_of_providers([node_uuid("a")])[node_uuid("a")][one].generation
    }
    assert reshaped(cell, *cells) is None
    assert held(engine) == {
        one: {node_uuid("a"): {"VCPU": 1}, cells[0]["uuid"]: {SLOT: 2}},
        two: {node_uuid("a"): {"VCPU": 1}, cells[1]["uuid"]: {SLOT: 2}},
    }
    after = engine.allocations.get_of_providers([node_uuid("a")])[node_uuid("a")][one].generation
    assert after == before[one] + 1
    assert SLOT not in engine.inventories.get(node_uuid("a")).inventories
    stood = held(engine)
    assert [reshaped(cell, *cells), report(cell, *cells)] == [None, None]
    assert held(engine) == stood


def test_a_tree_in_use_goes_back_to_its_former_shape(cell: Cell, engine: PlacementEngine) -> None:
    """What would go with its parts moves to what stays; the parts are gone."""
    cells = in_cells(2)
    report(cell, inventories=a_node_with(**SLOTS))
    one, two = hold_slots(engine, 2, 2)
    reshaped(cell, *cells)
    assert reshaped(cell, inventories=a_node_with(**SLOTS)) is None
    assert held(engine) == {uuid: {node_uuid("a"): {"VCPU": 1, SLOT: 2}} for uuid in (one, two)}
    assert tree(engine) == {"a": None}


@pytest.mark.parametrize("total", [1, 2])
def test_a_shape_without_room_is_refused_as_a_whole(
    cell: Cell, engine: PlacementEngine, total: int
) -> None:
    """An amount stays together; nothing of tree and allocations changes."""
    report(cell, inventories=a_node_with(**SLOTS))
    hold_slots(engine, 1, 3)
    stood = held(engine)
    assert SLOT in str(reshaped(cell, *in_cells(total), traits=["CUSTOM_NEW"]))
    assert (held(engine), tree(engine)) == (stood, {"a": None})
    assert "CUSTOM_NEW" not in traits(engine, node_uuid("a"))
    assert reshaped(cell, *in_cells(3)) is None


def test_what_placement_reshaped_before_its_answer_was_lost_is_confirmed(
    cell: Cell, engine: PlacementEngine
) -> None:
    """The agent says it again, and the conductor's own tries need no leave any more."""
    report(cell, inventories=a_node_with(**SLOTS))
    hold_slots(engine, 2)
    cells = in_cells(2)
    cell.top_bus.fail("set_providers", AWAY, when_done=True)
    assert "placement does not answer" in str(reshaped(cell, *cells))
    stood = held(engine)
    assert cell.providers.confirm_pending() == 1
    assert reshaped(cell, *cells) is None
    assert held(engine) == stood


def test_a_conductor_that_dies_before_it_tells_placement_loses_nothing(
    cell: Cell, engine: PlacementEngine
) -> None:
    """It stored the new shape: alone it is refused, with the agent's next report it is taken."""
    report(cell, inventories=a_node_with(**SLOTS))
    (one,) = hold_slots(engine, 2)
    cells = in_cells(2)
    cell.top_bus.fail("set_providers", AWAY)
    reshaped(cell, *cells)
    assert cell.providers.confirm_pending() == 1
    assert set(tree(engine)) == {"a"}
    assert reshaped(cell, *cells) is None
    assert held(engine)[one][cells[0]["uuid"]] == {SLOT: 2}


@pytest.mark.parametrize("written", [1, 2])
def test_placement_that_dies_in_the_middle_has_done_nothing(
    cell: Cell, engine: PlacementEngine, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """Both shapes, and the move between them, are one transaction."""
    report(cell, inventories=a_node_with(**SLOTS))
    hold_slots(engine, 2)
    stood = held(engine)
    store, count = provider_tree.store_reports, itertools.count()

    def die(*args: Any) -> None:
        if next(count) == written:  # the first one is of the try without a move
            raise Killed("placement")
        store(*args)

    with monkeypatch.context() as patch:
        patch.setattr(provider_tree, "store_reports", die)
        with pytest.raises(Killed):
            reshaped(cell, *in_cells(2))
    assert (held(engine), tree(engine)) == (stood, {"a": None})
    assert reshaped(cell, *in_cells(2)) is None


def test_claims_that_come_meanwhile_lose_nothing(
    cell: Cell, engine: PlacementEngine, url: str
) -> None:
    """Other processes claim and release slots where these are just then, or are refused."""
    wide = {SLOT: {"total": 40, "max_unit": 40}}
    cells = in_cells(40)
    report(cell, inventories=a_node_with(**wide))
    stayers = hold_slots(engine, 1, 2)
    places = [node_uuid("a"), *(child["uuid"] for child in cells)]
    shapes: list[tuple[list[dict[str, Any]], dict[str, Any]]] = [(cells, {}), ([], wide)]
    is_over = threading.Event()

    def claim_on(others: PlacementEngine) -> set[str]:
        """Hold a slot or two at any time, until it is over; return how the claims went."""
        seen = set()
        before = builders.a_uuid()
        for place in itertools.cycle(places):
            if is_over.is_set():
                break
            allocations = {place: {"resources": {SLOT: 1}}}
            claim = builders.a_claim("", allocations=allocations)
            (result,) = others.claims.claim([claim])
            seen.add(result.status)
            others.claims.release({before: 1})
            before = claim.consumer_uuid
        return seen

    with engines(url) as make, ThreadPoolExecutor(CLAIMERS) as claimers:
        working = [claimers.submit(claim_on, make()) for _ in range(CLAIMERS)]
        try:
            errors = [
                reshaped(cell, *shape, inventories=a_node_with(**own))
                for shape, own in itertools.islice(itertools.cycle(shapes), TURNS)
            ]
        finally:
            is_over.set()
        seen = set().union(*(each.result() for each in working))
    assert errors == [None] * TURNS
    assert seen <= {ClaimStatus.CLAIMED, ClaimStatus.NO_CAPACITY, ClaimStatus.NO_PROVIDER}
    amounts = [
        sum(resources.get(SLOT, 0) for resources in held(engine)[uuid].values()) for uuid in stayers
    ]
    assert amounts == [1, 2]
