"""A release that is delivered once more, late: what was claimed after it stands, on each engine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import oslo_messaging
import pytest

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from objects.allocations.allocation import AllocationClaim
from objects.allocations.fence import Fence
from objects.destinations import Destinations
from placement.db.preparation import SCHEMA
from placement.manager import PlacementManager
from tests.builders import a_provider
from tests.fixtures.control_plane import ControlPlane, an_admin
from tests.fixtures.placement import placement_conf
from tests.fixtures.services.databases import NewTables
from tests.fixtures.super_conductor import fake_scheduler

pytestmark = pytest.mark.sampled(every=3)

TIMEOUT = oslo_messaging.MessagingTimeout("no answer")
Held = dict[str, dict[str, dict[str, dict[str, int]]]]


class Placement(PlacementManager):
    """The real one, with its ledger, in the test's thread; keeps the releases that it was sent."""

    def __init__(self, plane: ControlPlane, database: Database) -> None:
        super().__init__(placement_conf(), top_bus=plane.bus, database=database)
        self.releases: list[dict[str, int]] = []
        nodes = [node for cell in plane.cells.values() for node in cell.nodes]
        self.engine.providers.set_providers(
            [a_provider(node.host, uuid=node.uuid) for node in nodes]
        )

    def release(self, context: RequestContext, consumers: dict[str, int]) -> None:
        self.releases.append(dict(consumers))
        self.engine.claims.release(consumers)

    def held(self, *consumers: str) -> Held:
        """Return what consumers hold."""
        return self.engine.allocations.get(consumers)


class Scheduler(fake_scheduler.Scheduler):
    """Claims what it chooses in the real placement."""

    def __init__(self, plane: ControlPlane, ledger: Placement) -> None:
        super().__init__(plane.placement)
        self.hosts = plane.scheduler.hosts
        self.ledger = ledger

    def answer(
        self, instance_uuids: list[str], fences: list[int], *, claims: bool = True, **wanted: Any
    ) -> Destinations:
        found = super().answer(instance_uuids, fences, claims=False, **wanted)
        if claims:
            asked = [
                AllocationClaim(
                    consumer_uuid=uuid, project_id="p1", user_id="u1", fence=fence,
                    allocations=chosen[0].allocation_request,
                )
                for uuid, fence, chosen in zip(
                    instance_uuids, fences, found.selections(), strict=True
                )
            ]  # fmt: skip
            for result in self.ledger.engine.claims.claim(asked):
                if not result.is_claimed:
                    raise exception.Conflict(reason=f"{result.status}: {result.reason}")
        return found


@pytest.fixture
def ledger(plane: ControlPlane, any_tables: NewTables, tmp_path: Path) -> Iterator[Placement]:
    """Put a real placement, on one engine after the other, in the place of the made-up one."""
    plane.add_flavor("large", vcpus=4, memory_mb=2048)
    plane.map_hosts()
    database = Database(any_tables(SCHEMA), name="placement")
    made = Placement(plane, database)
    scheduler = Scheduler(plane, made)
    plane.scheduler = scheduler
    plane.bus.endpoints["placement", None] = [made]
    plane.bus.endpoints["scheduler", None] = [scheduler]
    yield made
    database.dispose()


def deliver_again(ledger: Placement) -> None:
    """Deliver all releases so far a second time, long after the claims that came since."""
    assert ledger.releases, "nothing was released"
    for consumers in ledger.releases:
        ledger.engine.claims.release(consumers)


@pytest.mark.parametrize("tries", [1, 3])
def test_late_releases_of_a_build_leave_its_claims(
    plane: ControlPlane, ledger: Placement, tries: int
) -> None:
    """The scheduler had claimed and its answer was lost, once and several times."""
    plane.bus.fail("select_destinations", TIMEOUT, when_done=True, times=tries)
    uuids = plane.build(2)
    plane.settle()
    held = ledger.held(*uuids)
    assert sorted(held) == sorted(uuids)
    deliver_again(ledger)
    assert ledger.held(*uuids) == held


@pytest.mark.parametrize("tries", [1, 3])
@pytest.mark.parametrize("operation", ["resize", "live_migrate", "unshelve"])
def test_late_releases_of_a_move_leave_its_claim(
    plane: ControlPlane, ledger: Placement, operation: str, tries: int
) -> None:
    """It runs at its destination and holds that; what its migration holds stays, too."""
    (uuid,) = plane.build()
    (cell,) = plane.cells.values()
    if operation == "unshelve":
        state = {"vm_state": "shelved_offloaded", "host": None, "node": None}
        cell.instances[uuid] = cell.instances[uuid].with_values(**state)
        ledger.engine.claims.release({uuid: int(Fence.of_operation(1))})
    plane.bus.fail("select_destinations", TIMEOUT, when_done=True, times=tries)
    arguments = {"flavor": "large"} if operation == "resize" else {}
    plane.operate(uuid, operation, context=an_admin(), **arguments)
    plane.settle()
    consumers = (uuid, *cell.outcomes)
    held = ledger.held(*consumers)
    assert list(held[uuid]) == [cell_node(plane, cell.instances[uuid].host)]
    deliver_again(ledger)
    assert ledger.held(*consumers) == held


def cell_node(plane: ControlPlane, host: str | None) -> str:
    """Return the provider of a host."""
    (cell,) = plane.cells.values()
    return next(node.uuid for node in cell.nodes if node.host == host)
