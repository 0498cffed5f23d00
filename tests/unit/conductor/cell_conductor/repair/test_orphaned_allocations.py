"""Self-healing: what a consumer is, what becomes of its allocation, and how much a look is."""

import dataclasses
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from armillary.db import Database
from conductor.cell_conductor.repair.orphaned_allocations import (
    Held,
    OrphanedAllocations,
    Records,
    Verdict,
    classify,
)
from conductor.common.cell_db import instances, models
from conductor.super_conductor.interface import SuperConductorAPI
from objects.instance import Instance
from objects.instances.migration import MigrationStatus, MigrationType
from placement.engine import PlacementEngine
from placement.interface import PlacementAPI
from placement.manager import PlacementManager
from tests import builders
from tests.fixtures.cell import Cell, a_node, node_uuid
from tests.fixtures.placement import placement_conf

HOSTS = ("a", "b")


@dataclasses.dataclass
class World:
    """A cell of two hosts, and a placement that knows them and who holds what."""

    cell: Cell
    engine: PlacementEngine
    heal: OrphanedAllocations
    counts: list[Mapping[str, int]]

    def add(self, host: str | None, **values: Any) -> Instance:
        """Add an instance to the cell's records."""
        instance = builders.an_instance(host=host, **{"task_state": None, **values})
        self.cell.database.run_in_writer(instances.insert, [instance], now=builders.A_TIME)
        return instance

    def delete(self, instance: Instance) -> None:
        self.cell.database.run_in_writer(instances.delete, instance.uuid, now=builders.A_TIME)

    def hold(self, consumer: str, *providers: str) -> None:
        """Let a consumer hold a vCPU of each provider."""
        allocations = {provider: {"resources": {"VCPU": 1}} for provider in providers}
        claim = builders.a_claim(providers[0], consumer_uuid=consumer, allocations=allocations)
        (result,) = self.engine.claims.claim([claim])
        assert result.is_claimed

    def holders(self, host: str) -> set[str]:
        provider = node_uuid(host)
        return set(self.engine.allocations.get_of_providers([provider]).get(provider, {}))


@pytest.fixture
def world(cell: Cell, placement_url: str) -> Iterator[World]:
    """Return a cell with a real placement beside it."""
    database = Database(placement_url, name="placement")
    manager = PlacementManager(placement_conf(), top_bus=cell.top_bus, database=database)
    cell.top_bus.endpoints["placement", None] = [manager]
    for host in HOSTS:
        cell.add_agent(host)
    counts: list[Mapping[str, int]] = []
    heal = OrphanedAllocations(
        cell.conf, database=cell.database, placement=PlacementAPI(cell.top_bus),
        top=SuperConductorAPI(cell.top_bus), count=counts.append,
    )  # fmt: skip
    yield World(cell, manager.engine, heal, counts)
    database.dispose()


def an_instance_row(**values: Any) -> models.Instance:
    return models.Instance(**{"host": "a", "deleted_at": None, "task_state": None, **values})


def a_migration_row(source: str, dest: str) -> models.Migration:
    return models.Migration(
        source_host=source, dest_host=dest,
        migration_type=MigrationType.MIGRATION, status=MigrationStatus.MIGRATING,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("instance", "migration", "expected"),
    [
        (an_instance_row(), None, Verdict.TRACKED),
        (None, a_migration_row("a", "b"), Verdict.TRACKED),
        (None, a_migration_row("b", "a"), Verdict.TRACKED),
        (None, a_migration_row("b", "c"), Verdict.ELSEWHERE),
        (None, None, Verdict.UNKNOWN),
        (an_instance_row(deleted_at=builders.A_TIME), None, Verdict.DELETED),
        (an_instance_row(host=None, deleted_at=builders.A_TIME), None, Verdict.DELETED),
        (an_instance_row(host=None), None, Verdict.UNPLACED),
        (an_instance_row(host="b"), None, Verdict.ELSEWHERE),
        (an_instance_row(host=None, hidden=True), None, Verdict.UNPLACED),
        (
            an_instance_row(host=None, hidden=True, deleted_at=builders.A_TIME), None,
            Verdict.UNPLACED,
        ),
    ],
    ids=[
        "here", "move-from", "move-to", "move-elsewhere", "unknown", "deleted",
        "deleted-without-host", "no-host", "elsewhere", "copy", "gone-to-another-cell",
    ],
)  # fmt: skip
def test_a_consumer_is_what_the_table_says(
    instance: models.Instance | None, migration: models.Migration | None, expected: Verdict
) -> None:
    """Of an allocation on host a."""
    records = Records({"c": instance} if instance else {}, {"c": migration} if migration else {})
    assert classify(Held("c", "a", 1), records) is expected


def test_what_a_deleted_instance_holds_is_released(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """The living keep theirs; it is said, and counted."""
    gone, alive = world.add("a"), world.add("a")
    for instance in (gone, alive):
        world.hold(instance.uuid, node_uuid("a"))
    world.delete(gone)
    with caplog.at_level(
        logging.WARNING, logger="conductor.cell_conductor.repair.orphaned_allocations"
    ):
        assert world.heal.heal() == 1
        assert world.heal.heal() == 0
    assert world.holders("a") == {alive.uuid}
    assert [gone.uuid in record.getMessage() for record in caplog.records] == [True]
    assert world.counts[0] == {"deleted": 1, "tracked": 1, "released": 1}


def test_no_other_consumer_is_released_and_each_is_logged_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """Unknown ones may be another service's; one elsewhere is warned of, unless it moves."""
    unknown = builders.a_uuid()
    unplaced, elsewhere = world.add(None), world.add("b")
    moving = world.add("b", task_state="migrating")
    for consumer in (unknown, unplaced.uuid, elsewhere.uuid, moving.uuid):
        world.hold(consumer, node_uuid("a"))
    with caplog.at_level(
        logging.INFO, logger="conductor.cell_conductor.repair.orphaned_allocations"
    ):
        assert [world.heal.heal(), world.heal.heal()] == [0, 0]
    assert len(world.holders("a")) == 4
    said = {record.getMessage().split(":")[0]: record.levelname for record in caplog.records}
    assert said == {unknown: "INFO", elsewhere.uuid: "WARNING"}
    assert len(caplog.records) == 2


def test_one_that_changed_meanwhile_is_left_alone(world: World) -> None:
    """It was written between the check and the release; the next check sees what it is then."""
    gone = world.add("a")
    world.hold(gone.uuid, node_uuid("a"))
    world.delete(gone)
    world.cell.top_bus.meanwhile("release_unchanged", lambda: _change(world, gone.uuid))
    assert world.heal.heal() == 0
    assert world.holders("a") == {gone.uuid}
    assert world.heal.heal() == 1


def _change(world: World, consumer: str) -> None:
    """Rewrite a consumer's allocation, as an operator may over REST."""
    claim = builders.a_claim(node_uuid("a"), 2, consumer_uuid=consumer, replace=True)
    (result,) = world.engine.claims.claim([claim])
    assert result.is_claimed


def test_one_that_lives_in_another_cell_keeps_what_it_has(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """It moved: its record here is deleted, and it holds resources of a host that is not ours."""
    foreign = builders.a_provider("foreign")
    world.engine.providers.set_providers([foreign])
    moved = world.add("a")
    world.hold(moved.uuid, node_uuid("a"), str(foreign["uuid"]))
    world.delete(moved)
    with caplog.at_level(
        logging.WARNING, logger="conductor.cell_conductor.repair.orphaned_allocations"
    ):
        assert [world.heal.heal(), world.heal.heal()] == [0, 0]
    assert world.holders("a") == {moved.uuid}
    assert len(caplog.records) == 1


def test_one_that_the_super_conductor_did_not_delete_keeps_what_it_has(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """The cell's records may be an older backup's, or changed by a thief of its key."""
    gone, alive = world.add("a"), world.add("a")
    for instance in (gone, alive):
        world.hold(instance.uuid, node_uuid("a"))
        world.delete(instance)
    world.cell.top.alive.add(alive.uuid)
    with caplog.at_level(
        logging.WARNING, logger="conductor.cell_conductor.repair.orphaned_allocations"
    ):
        assert [world.heal.heal(), world.heal.heal()] == [1, 0]
    assert world.holders("a") == {alive.uuid}
    assert [alive.uuid in record.getMessage() for record in caplog.records].count(True) == 1


def test_nothing_is_released_while_the_super_conductor_is_away(world: World) -> None:
    """What is unknown is kept; a later look asks again."""
    gone = world.add("a")
    world.hold(gone.uuid, node_uuid("a"))
    world.delete(gone)
    world.cell.top_bus.fail(
        "list_deleted_instances",
        exception.RpcTimeout(method="list_deleted_instances", topic="conductor", timeout_seconds=1),
    )
    assert world.heal.heal() == 0
    assert world.holders("a") == {gone.uuid}
    assert world.heal.heal() == 1


def test_parts_of_a_host_are_looked_at_too(world: World) -> None:
    """A device that a deleted instance holds is free again."""
    child: dict[str, Any] = {
        "uuid": builders.a_uuid(), "name": "a_card", "parent_uuid": node_uuid("a"),
        "inventories": {"CUSTOM_GPU": {"total": 1}}, "traits": [],
    }  # fmt: skip
    world.cell.nodes.report_compute_nodes(
        admin_context(), "a", [a_node("a", child_providers=[child])]
    )
    gone = world.add("a")
    allocations = {
        child["uuid"]: {"resources": {"CUSTOM_GPU": 1}},
        node_uuid("a"): {"resources": {"VCPU": 1}},
    }
    claim = builders.a_claim("", consumer_uuid=gone.uuid, allocations=allocations)
    assert [result.is_claimed for result in world.engine.claims.claim([claim])] == [True]
    world.delete(gone)
    assert world.heal.heal() == 1
    assert world.engine.allocations.get_of_providers([child["uuid"], node_uuid("a")]) == {}


def test_a_look_is_about_some_hosts_and_the_next_goes_on(world: World) -> None:
    """Until all had their turn; then the first again."""
    world.cell.conf.set_override("self_heal_hosts_max", 1, group="cell")
    for _round in range(2):
        for host in HOSTS:
            gone = world.add(host)
            world.hold(gone.uuid, node_uuid(host))
            world.delete(gone)
        released: list[int] = []
        while len(released) < 2:
            released.append(world.heal.heal())
        assert released == [1, 1]
        world.heal.heal()  # finds that there are no more


def test_while_placement_is_away_nothing_is_lost(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """The same hosts are looked at again."""
    gone = world.add("a")
    world.hold(gone.uuid, node_uuid("a"))
    world.delete(gone)
    away = exception.DatabaseUnavailable(name="placement", reason="it restarts")
    world.cell.top_bus.fail("get_provider_allocations", away)
    with caplog.at_level(
        logging.WARNING, logger="conductor.cell_conductor.repair.orphaned_allocations"
    ):
        assert world.heal.heal() == 0
    assert "(self-healing) is unavailable" in caplog.text
    assert world.heal.heal() == 1
