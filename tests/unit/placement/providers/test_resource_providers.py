"""Providers one by one on a database: trees, names, aggregates, and lists of them."""

import datetime as dt
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import select

from armillary import exception
from armillary.db import Database
from placement.db.models import PlacementEpoch
from placement.engine import PlacementEngine
from placement.providers.provider_record import ProviderFilters, ProviderRecord
from placement.providers.resource_providers import Parent
from tests.builders import a_claim, a_provider, a_uuid
from tests.fixtures.placement import NewEngine
from tests.fixtures.placement.provider_tables import rows_of_tree

AGGREGATES = [f"c0ffee00-0000-4000-8000-{number:012}" for number in (2, 1, 3)]
NOON = dt.datetime(2030, 1, 1, 12)

Clock = Callable[[], dt.datetime]


def ticking() -> Clock:
    """Return a clock that is an hour later each time it is read."""
    hours = iter(range(10**6))
    return lambda: NOON + dt.timedelta(hours=next(hours))


def make(
    engine: PlacementEngine, name: str, parent: ProviderRecord | None = None
) -> ProviderRecord:
    return engine.resource_providers.create(a_uuid(), name, parent.uuid if parent else None)


def move(
    engine: PlacementEngine, record: ProviderRecord, parent: ProviderRecord | None
) -> ProviderRecord:
    return engine.resource_providers.update(
        record.uuid, record.name, parent.uuid if parent else None, may_reparent=True
    )


def names(engine: PlacementEngine, **filters: Any) -> list[str]:
    return [item.name for item in engine.resource_providers.list(ProviderFilters(**filters))]


def tree_of(engine: PlacementEngine, root: ProviderRecord) -> list[str]:
    """Return the providers of a tree: by the rows, which must be what the table says."""
    found = names(engine, in_tree=root.uuid)
    with engine._table_cache.table() as table:
        row = table.row_of(root.uuid)
        assert row is not None
        members = rows_of_tree(table, int(table.root_rows[row]))
        uuids = {str(uuid) for uuid in table.uuids[members]}
    listed = engine.resource_providers.list(ProviderFilters(in_tree=root.uuid))
    assert uuids == {item.uuid for item in listed}
    return found


def epoch(engine: PlacementEngine) -> int:
    with engine._database.reader() as session:
        return session.scalars(select(PlacementEpoch.epoch)).one()


# Making -------------------------------------------------------------------------------------------


def test_a_new_provider_is_a_root_of_generation_0(new_engine: NewEngine) -> None:
    """It is its own root; the time is that of the writer's clock."""
    engine = new_engine(clock=lambda: NOON)
    uuid = a_uuid()
    record = engine.resource_providers.create(uuid, "host1")
    assert record == engine.resource_providers.get(uuid)
    assert (record.uuid, record.name, record.generation) == (uuid, "host1", 0)
    assert (record.parent_provider_uuid, record.root_provider_uuid) == (None, uuid)
    assert record.updated_at == NOON


def test_a_grandchild_has_the_root_of_all(engine: PlacementEngine) -> None:
    """However deep it is."""
    root = make(engine, "root")
    child = make(engine, "child", root)
    grandchild = make(engine, "grandchild", child)
    assert grandchild.parent_provider_uuid == child.uuid
    assert grandchild.root_provider_uuid == root.uuid
    assert tree_of(engine, grandchild) == ["root", "child", "grandchild"]


def test_a_uuid_and_a_name_belong_to_one_provider(engine: PlacementEngine) -> None:
    """The error says which of both it is."""
    first = make(engine, "host1")
    with pytest.raises(exception.ResourceProviderExists, match=f"uuid: {first.uuid} already"):
        engine.resource_providers.create(first.uuid, "host2")
    with pytest.raises(exception.ResourceProviderExists, match="name: host1 already"):
        engine.resource_providers.create(a_uuid(), "host1")
    assert names(engine) == ["host1"]


@pytest.mark.parametrize("name", ["", "n" * 201, "a\0b", "two\nlines"], ids=ascii)
def test_a_name_that_not_every_database_stores_is_refused(
    engine: PlacementEngine, name: str
) -> None:
    """Be it new or an old provider's."""
    record = make(engine, "n" * 200)
    with pytest.raises(exception.Invalid, match="1 to 200 printable"):
        engine.resource_providers.create(a_uuid(), name)
    with pytest.raises(exception.Invalid, match="1 to 200 printable"):
        engine.resource_providers.update(record.uuid, name, Parent.UNCHANGED, may_reparent=True)
    assert names(engine) == ["n" * 200]


def test_a_parent_has_to_be_there_and_another_provider(engine: PlacementEngine) -> None:
    """Nothing is made otherwise."""
    uuid = a_uuid()
    with pytest.raises(exception.ProviderParentRefused, match="UUID does not exist"):
        engine.resource_providers.create(uuid, "child", a_uuid())
    with pytest.raises(exception.ProviderParentRefused, match="cannot be same as UUID"):
        engine.resource_providers.create(uuid, "child", uuid)
    assert names(engine) == []


# Changing -----------------------------------------------------------------------------------------


def test_a_renamed_provider_keeps_generation_and_parent(new_engine: NewEngine) -> None:
    """The time tells that something changed."""
    engine = new_engine(clock=ticking())
    root = make(engine, "root")
    child = make(engine, "child", root)
    renamed = engine.resource_providers.update(
        child.uuid, "heir", Parent.UNCHANGED, may_reparent=False
    )
    assert (renamed.name, renamed.generation) == ("heir", 0)
    assert renamed.parent_provider_uuid == root.uuid
    assert renamed.updated_at > child.updated_at


def test_an_update_that_changes_nothing_writes_nothing(engine: PlacementEngine) -> None:
    """Neither the row nor the epoch."""
    root = make(engine, "root")
    child = make(engine, "child", root)
    before = epoch(engine)
    same = engine.resource_providers.update(child.uuid, "child", root.uuid, may_reparent=False)
    assert (same, epoch(engine)) == (child, before)


def test_the_name_of_another_provider_is_refused(engine: PlacementEngine) -> None:
    """The parent that came with it is not set either."""
    root, other = make(engine, "root"), make(engine, "other")
    with pytest.raises(exception.ResourceProviderExists, match="name: root already"):
        engine.resource_providers.update(other.uuid, "root", root.uuid, may_reparent=True)
    assert engine.resource_providers.get(other.uuid) == other


def test_a_moved_subtree_goes_with_all_below_it(new_engine: NewEngine) -> None:
    """The roots of all of them change; other engines see that immediately; generations stay."""
    engine, reader = new_engine(clock=ticking()), new_engine()
    old, new = make(engine, "old"), make(engine, "new")
    middle = make(engine, "middle", old)
    leaf = make(engine, "leaf", middle)
    make(engine, "sibling", old)
    assert tree_of(reader, old) == ["old", "middle", "leaf", "sibling"]
    moved = move(engine, middle, new)
    assert (moved.parent_provider_uuid, moved.root_provider_uuid) == (new.uuid, new.uuid)
    assert tree_of(reader, leaf) == ["new", "middle", "leaf"]
    assert tree_of(reader, old) == ["old", "sibling"]
    below = engine.resource_providers.get(leaf.uuid)
    assert (below.parent_provider_uuid, below.generation) == (middle.uuid, 0)
    assert below.updated_at > leaf.updated_at


def test_an_orphan_is_the_root_of_all_below_it(engine: PlacementEngine) -> None:
    """A whole branch can become a tree of its own."""
    root = make(engine, "root")
    branch = make(engine, "branch", root)
    make(engine, "leaf", branch)
    orphan = move(engine, branch, None)
    assert (orphan.parent_provider_uuid, orphan.root_provider_uuid) == (None, branch.uuid)
    assert tree_of(engine, branch) == ["branch", "leaf"]
    assert tree_of(engine, root) == ["root"]


def test_a_root_with_children_can_be_given_a_parent_in_any_version(engine: PlacementEngine) -> None:
    """That is not re-parenting: it had none."""
    above, root = make(engine, "above"), make(engine, "root")
    make(engine, "child", root)
    engine.resource_providers.update(root.uuid, "root", above.uuid, may_reparent=False)
    assert tree_of(engine, above) == ["above", "root", "child"]


@pytest.mark.parametrize(
    ("parent", "reason"), [("other", "re-parenting"), (None, "un-parenting")], ids=str
)
def test_a_child_keeps_its_parent_unless_that_is_allowed(
    engine: PlacementEngine, parent: str | None, reason: str
) -> None:
    """Nor is the name changed that came with it."""
    records = {name: make(engine, name) for name in ("root", "other")}
    child = make(engine, "child", records["root"])
    with pytest.raises(exception.ProviderParentRefused, match=f"{reason} a provider is not"):
        engine.resource_providers.update(
            child.uuid, "heir", records[parent].uuid if parent else None, may_reparent=False
        )
    assert engine.resource_providers.get(child.uuid) == child


@pytest.mark.parametrize("below", [0, 1, 2], ids=["itself", "its-child", "its-grandchild"])
def test_no_provider_is_put_below_itself(engine: PlacementEngine, below: int) -> None:
    """The whole tree stays as it was."""
    line = [make(engine, "root")]
    for name in ("child", "grandchild"):
        line.append(make(engine, name, line[-1]))
    before = engine.resource_providers.list(ProviderFilters())
    with pytest.raises(exception.ProviderParentRefused, match="creating loop"):
        move(engine, line[0], line[below])
    assert engine.resource_providers.list(ProviderFilters()) == before


def test_two_that_move_below_each_other_make_no_loop(new_engine: NewEngine) -> None:
    """The second writer is refused, also when it looked before the first one wrote."""
    engines = [new_engine(), new_engine()]
    for turn in range(5):
        pair = [make(engines[0], f"{side}{turn}") for side in "ab"]
        with ThreadPoolExecutor(2) as pool:
            moves = [
                pool.submit(move, engines[side], pair[side], pair[1 - side]) for side in (0, 1)
            ]
            errors = [done.exception() for done in moves]
        assert [type(error) for error in errors if error] == [exception.ProviderParentRefused]
        tree_of(engines[0], pair[0])


# Deleting -----------------------------------------------------------------------------------------


def test_a_deleted_provider_is_gone_with_all_it_had(engine: PlacementEngine) -> None:
    """Its parent may follow then."""
    root = make(engine, "root")
    child = make(engine, "child", root)
    engine.resource_providers.set_aggregates(child.uuid, AGGREGATES, 0)
    engine.resource_providers.delete(child.uuid)
    engine.resource_providers.delete(root.uuid)
    assert names(engine) == []
    with pytest.raises(exception.ResourceProviderNotFound, match="found for delete"):
        engine.resource_providers.delete(root.uuid)


def test_a_parent_is_not_deleted(engine: PlacementEngine) -> None:
    """Neither this way nor as its owner does."""
    root = make(engine, "root")
    make(engine, "child", root)
    with pytest.raises(exception.ResourceProviderHasChildren, match="has child resource provid"):
        engine.resource_providers.delete(root.uuid)
    with pytest.raises(exception.InUse):
        engine.providers.delete(root.uuid)
    assert tree_of(engine, root) == ["root", "child"]


def test_a_provider_with_allocations_is_not_deleted(engine: PlacementEngine) -> None:
    """The consumer comes first."""
    report = a_provider()
    engine.providers.set_providers([report])
    engine.claims.claim([a_claim(report["uuid"])])
    with pytest.raises(exception.ResourceProviderInUse, match="has allocations"):
        engine.resource_providers.delete(report["uuid"])
    assert names(engine) == [report["name"]]


@pytest.mark.parametrize(
    "uuid", ["host1", "a\0b", "C0FFEE00-0000-4000-8000-000000000001"], ids=ascii
)
def test_what_is_not_a_uuid_as_we_write_them_is_not_found(
    engine: PlacementEngine, uuid: str
) -> None:
    """It never gets to the database."""
    providers = engine.resource_providers
    asked = [providers.get, providers.get_aggregates, providers.delete]
    for ask in asked:
        with pytest.raises(exception.ResourceProviderNotFound):
            ask(uuid)


# Aggregates ---------------------------------------------------------------------------------------


def test_aggregates_come_in_the_order_in_which_they_were_first_seen(
    engine: PlacementEngine,
) -> None:
    """And the generation counts the change."""
    record = make(engine, "host1")
    found = engine.resource_providers.set_aggregates(record.uuid, AGGREGATES, 0)
    assert (found.aggregates, found.generation) == (AGGREGATES, 1)
    found = engine.resource_providers.set_aggregates(record.uuid, AGGREGATES[::-2], 1)
    assert (found.aggregates, found.generation) == (AGGREGATES[::2], 2)
    assert engine.resource_providers.get_aggregates(record.uuid) == found


def test_aggregates_without_a_generation_leave_it_alone(new_engine: NewEngine) -> None:
    """Readers learn of them all the same."""
    engine, reader = new_engine(clock=ticking()), new_engine()
    record = make(engine, "host1")
    assert names(reader, member_of=((AGGREGATES[0],),)) == []
    found = engine.resource_providers.set_aggregates(record.uuid, AGGREGATES, None)
    assert found.generation == 0
    assert found.updated_at > record.updated_at
    assert names(reader, member_of=((AGGREGATES[0],),)) == ["host1"]


def test_another_generation_changes_nothing(engine: PlacementEngine) -> None:
    """Neither an older one nor one to come."""
    record = make(engine, "host1")
    engine.resource_providers.set_aggregates(record.uuid, AGGREGATES[:1], 0)
    for generation in (0, 2):
        with pytest.raises(exception.ResourceProviderGenerationConflict):
            engine.resource_providers.set_aggregates(record.uuid, [], generation)
    assert engine.resource_providers.get_aggregates(record.uuid).aggregates == AGGREGATES[:1]


def test_of_two_writers_on_one_generation_one_is_refused(new_engine: NewEngine) -> None:
    """And what stands is what the other one wrote."""
    engines = [new_engine(), new_engine()]
    record = make(engines[0], "host1")
    with ThreadPoolExecutor(2) as pool:
        wanted = [[AGGREGATES[0]], [AGGREGATES[1]]]
        writes = [
            pool.submit(engine.resource_providers.set_aggregates, record.uuid, mine, 0)
            for engine, mine in zip(engines, wanted, strict=True)
        ]
        errors = [write.exception() for write in writes]
    assert [type(error) for error in errors if error] == [
        exception.ResourceProviderGenerationConflict
    ]
    found = engines[0].resource_providers.get_aggregates(record.uuid)
    assert (found.aggregates, found.generation) == (wanted[errors.index(None)], 1)


# Lists --------------------------------------------------------------------------------------------


@pytest.fixture
def fleet(engine: PlacementEngine) -> dict[str, str]:
    """Return name -> UUID of three hosts; the second has a bare child."""
    reports = [
        a_provider("a", traits=["CUSTOM_A"], inventories={"VCPU": {"total": 8}}),
        a_provider(
            "b",
            traits=["CUSTOM_A", "CUSTOM_B"],
            inventories={"VCPU": {"total": 4, "min_unit": 2, "step_size": 2}},
        ),
        a_provider("c", traits=[], inventories={"DISK_GB": {"total": 100, "max_unit": 10}}),
    ]
    engine.providers.set_providers(reports)
    uuids = {report["name"]: report["uuid"] for report in reports}
    uuids["child"] = a_uuid()
    engine.resource_providers.create(uuids["child"], "child", uuids["b"])
    engine.resource_providers.set_aggregates(uuids["a"], AGGREGATES[:2], None)
    engine.resource_providers.set_aggregates(uuids["child"], AGGREGATES[1:2], None)
    return uuids


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["a", "b", "c", "child"]),
        ({"name": "b"}, ["b"]),
        ({"name": "nobody"}, []),
        ({"resources": {"VCPU": 1}}, ["a"]),
        ({"resources": {"VCPU": 4}}, ["a", "b"]),
        ({"resources": {"VCPU": 5}}, ["a"]),
        ({"resources": {"VCPU": 3}}, ["a"]),
        ({"resources": {"DISK_GB": 11}}, []),
        ({"resources": {"VCPU": 2, "DISK_GB": 1}}, []),
        ({"resources": {"VCPU": 10**25}}, []),
        ({"required_traits": (("CUSTOM_A",),)}, ["a", "b"]),
        ({"required_traits": (("CUSTOM_A",), ("CUSTOM_B",))}, ["b"]),
        ({"required_traits": (("CUSTOM_B", "CUSTOM_NONE"),)}, ["b"]),
        ({"forbidden_traits": ("CUSTOM_B",)}, ["a", "c", "child"]),
        ({"member_of": ((AGGREGATES[1],),)}, ["a", "child"]),
        ({"member_of": ((AGGREGATES[0], AGGREGATES[2]),)}, ["a"]),
        ({"member_of": ((AGGREGATES[0],), (AGGREGATES[1],))}, ["a"]),
        ({"forbidden_aggregates": (AGGREGATES[0],)}, ["b", "c", "child"]),
        ({"name": "b", "required_traits": (("CUSTOM_A",),)}, ["b"]),
        ({"name": "c", "required_traits": (("CUSTOM_A",),)}, []),
    ],
    ids=str,
)
def test_a_list_has_those_that_pass_every_filter(
    engine: PlacementEngine, fleet: dict[str, str], filters: dict[str, Any], expected: list[str]
) -> None:
    """What counts is what the provider has itself, not what is above or below it."""
    assert names(engine, **filters) == expected


def test_a_list_of_a_tree_is_asked_by_any_of_its_members(
    engine: PlacementEngine, fleet: dict[str, str]
) -> None:
    """Together with other filters, too."""
    for member in ("b", "child"):
        assert names(engine, in_tree=fleet[member]) == ["b", "child"]
    assert names(engine, in_tree=fleet["child"], required_traits=(("CUSTOM_B",),)) == ["b"]
    assert names(engine, in_tree=fleet["a"], required_traits=(("CUSTOM_B",),)) == []
    assert names(engine, in_tree=a_uuid()) == []
    assert names(engine, uuid=fleet["c"]) == ["c"]


def test_what_is_used_is_not_free(engine: PlacementEngine, fleet: dict[str, str]) -> None:
    """A claim takes a provider off the list."""
    engine.claims.claim([a_claim(fleet["a"], 5)])
    assert names(engine, resources={"VCPU": 4}) == ["b"]


# A connection that is lost ------------------------------------------------------------------------


@pytest.fixture
def lossy(engine: PlacementEngine, monkeypatch: pytest.MonkeyPatch) -> PlacementEngine:
    """Return an engine that runs every write twice, as if its first commit got no answer."""
    run = Database.run_in_writer

    def run_twice(*arguments: Any, **more: Any) -> Any:
        run(*arguments, **more)
        return run(*arguments, **more)

    monkeypatch.setattr(Database, "run_in_writer", run_twice)
    return engine


def test_a_write_that_was_committed_unnoticed_succeeds_once(lossy: PlacementEngine) -> None:
    """It finds its own work done: no duplicate, no conflict, no second generation."""
    providers = lossy.resource_providers
    root = make(lossy, "root")
    child = make(lossy, "child", root)
    assert (child.generation, child.parent_provider_uuid) == (0, root.uuid)
    assert providers.update(child.uuid, "heir", None, may_reparent=True).name == "heir"
    found = providers.set_aggregates(child.uuid, AGGREGATES, 0)
    assert (found.aggregates, found.generation) == (AGGREGATES, 1)
    providers.delete(child.uuid)
    assert names(lossy) == ["root"]


def test_what_another_process_made_is_left_to_it(lossy: PlacementEngine) -> None:
    """The same UUID with another name is a duplicate, however often we try."""
    first = make(lossy, "host1")
    with pytest.raises(exception.ResourceProviderExists):
        lossy.resource_providers.create(first.uuid, "host2")
    with pytest.raises(exception.ResourceProviderExists):
        lossy.resource_providers.create(first.uuid, "host1")
