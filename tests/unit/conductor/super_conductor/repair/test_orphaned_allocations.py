"""Who is a server of ours: in a build request, a cell, cell0, or still to be cleaned up."""

import dataclasses

import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.common.leases import Lease
from conductor.super_conductor.db import cleanups, host_mappings, moves
from conductor.super_conductor.db.moves import Move, MoveArguments
from conductor.super_conductor.repair.orphaned_allocations import CONSUMERS_MAX, Orphans
from objects.cell_mapping import CELL0_UUID
from tests import builders
from tests.builders import a_migration
from tests.fixtures.control_plane import NOW, ControlPlane, a_user
from tests.fixtures.placement import placement_template, placement_url
from tests.fixtures.placement.placement_repair import Cloud, cloud

__all__ = ["cloud", "placement_template", "placement_url"]


class Finder:
    """Asks about consumers of the first host."""

    def __init__(self, cloud: Cloud) -> None:
        peers = cloud.plane.peers
        self._cloud = cloud
        self._orphans = Orphans(cloud.plane.database, peers.cells, peers.cell0, peers.placement)

    def __call__(self, *uuids: str, provider: str | None = None) -> dict[str, list[str]]:
        providers = [provider or self._cloud.nodes[0]]
        found = self._orphans.find_orphans(admin_context(), dict.fromkeys(uuids, providers))
        return {word: value for word, value in dataclasses.asdict(found).items() if value}


@pytest.fixture
def find(cloud: Cloud) -> Finder:
    """Return what asks."""
    return Finder(cloud)


def test_who_is_known_nowhere_is_an_orphan(cloud: Cloud, find: Finder) -> None:
    """Beside servers, which are none."""
    server, stranger = cloud.add_server(), builders.a_uuid()
    assert find(server.uuid, stranger) == {"orphans": [stranger]}
    assert find() == {}


def test_a_server_that_is_being_built_is_none(cloud: Cloud, find: Finder) -> None:
    """From the moment it was accepted, also when its user deleted it since."""
    built, deleted = cloud.plane.create(2)
    cloud.plane.deletes.delete(admin_context(), deleted)
    assert find(built, deleted) == {}


def test_a_server_on_no_host_is_none(cloud: Cloud, find: Finder) -> None:
    """Such as one whose build failed."""
    failed = cloud.add_server(host=None, node=None, vm_state="error")
    assert find(failed.uuid) == {}


def test_a_server_that_no_mapping_names_is_none(cloud: Cloud, find: Finder) -> None:
    """It may live in any cell, such as one that was moved here."""
    other = cloud.plane.add_cell("cell2")
    unmapped = builders.an_instance(host=None)
    other.instances[unmapped.uuid] = unmapped
    assert find(unmapped.uuid) == {}


def test_a_server_in_cell0_is_none_until_it_is_deleted(cloud: Cloud, find: Finder) -> None:
    """Its record is there for its user."""
    cloud.plane.scheduler.error = exception.NoValidHost(reason="all are full")
    (failed,) = cloud.plane.build()
    assert find(failed) == {}
    cloud.plane.peers.cell0.delete_instances([failed])
    assert find(failed) == {"orphans": [failed]}


@pytest.mark.parametrize("cell_uuid", [None, CELL0_UUID, "gone"])
def test_a_server_that_is_gone_is_an_orphan(
    cloud: Cloud, find: Finder, cell_uuid: str | None
) -> None:
    """Whatever its mapping says, which stays for a while."""
    gone = builders.a_uuid()
    where = builders.a_uuid() if cell_uuid == "gone" else cell_uuid
    cloud.map_server(gone, where, is_deleted=True)
    assert find(gone) == {"orphans": [gone]}


def test_what_a_conductor_still_cleans_up_is_left_to_it(cloud: Cloud, find: Finder) -> None:
    """It does so by itself."""
    gone = builders.a_uuid()
    cloud.map_server(gone, None, is_deleted=True)
    with cloud.plane.database.writer() as session:
        cleanups.add_releases(session, [gone], a_user())
    assert find(gone) == {}


def test_in_doubt_a_server_is_in_the_cell_that_does_not_answer(cloud: Cloud, find: Finder) -> None:
    """If it is mapped there, or nowhere; one that is mapped to another cell is not."""
    other = cloud.plane.add_cell("cell2")
    lost, unmapped, gone = (builders.a_uuid() for _ in range(3))
    cloud.map_server(lost, other.uuid)
    cloud.map_server(gone, cloud.cell.uuid)
    cloud.lose(other)
    assert find(lost, unmapped, gone) == {
        "orphans": [gone], "unsure": sorted([lost, unmapped]), "down_cells": ["cell2"]
    }  # fmt: skip


def test_a_consumer_of_none_of_our_hosts_is_foreign(cloud: Cloud, find: Finder) -> None:
    """Placement may serve another cloud, too."""
    stranger = builders.a_uuid()
    assert find(stranger, provider=builders.a_uuid()) == {"foreign": [stranger]}
    with cloud.plane.database.writer() as session:
        host_mappings.delete_host_mapping(session, cloud.cell.nodes[0].host)
    assert find(stranger) == {"foreign": [stranger]}


# Moves of servers


class MoveFinder(Finder):
    """Asks about migrations that hold something of the first host."""

    def __call__(self, *uuids: str, provider: str | None = None) -> dict[str, list[str]]:
        providers = [provider or self._cloud.nodes[0]]
        found = self._orphans.find_orphan_migrations(
            admin_context(), dict.fromkeys(uuids, providers)
        )
        return {word: value for word, value in dataclasses.asdict(found).items() if value}


@pytest.fixture
def find_moves(cloud: Cloud) -> MoveFinder:
    """Return what asks."""
    return MoveFinder(cloud)


def test_a_move_that_has_not_ended_is_in_whichever_cell(
    cloud: Cloud, find_moves: MoveFinder
) -> None:
    """One that has ended, or was never known, needs nothing any more."""
    other = cloud.plane.add_cell("cell2")
    here, there, over = (
        a_migration(builders.a_uuid(), status=status)
        for status in ("finished", "running", "completed")
    )
    unknown = builders.a_uuid()
    cloud.cell.migrations, other.migrations = [here, over], [there]
    found = find_moves(here.uuid, there.uuid, over.uuid, unknown)
    assert found == {"orphans": sorted([over.uuid, unknown])}
    assert find_moves() == {}


def test_a_move_whose_hosts_are_looked_for_is_none(cloud: Cloud, find_moves: MoveFinder) -> None:
    """The super conductor has it, whatever its cell says."""
    uuid = builders.a_uuid()
    move = Move(
        migration_uuid=uuid, instance_uuid=builders.a_uuid(), cell_uuid=cloud.cell.uuid,
        operation="resize", arguments=MoveArguments(), context=a_user(), takes=1, accepted_at=NOW,
    )  # fmt: skip
    lease = Lease(uuid, "me", 0.0)
    with cloud.plane.database.writer() as session:
        moves.add(session, move, lease)
    assert find_moves(uuid) == {}


def test_in_doubt_a_move_is_in_the_cell_that_does_not_answer(
    cloud: Cloud, find_moves: MoveFinder
) -> None:
    """No mapping says where it is."""
    other = cloud.plane.add_cell("cell2")
    cloud.lose(other)
    uuid = builders.a_uuid()
    assert find_moves(uuid) == {"unsure": [uuid], "down_cells": ["cell2"]}


def test_a_move_on_no_host_of_ours_is_foreign(cloud: Cloud, find_moves: MoveFinder) -> None:
    """Placement may serve another cloud, too."""
    uuid = builders.a_uuid()
    assert find_moves(uuid, provider=builders.a_uuid()) == {"foreign": [uuid]}


def test_too_many_together_are_refused(find: Finder) -> None:
    """A question has a bound."""
    with pytest.raises(exception.Invalid, match="1001 consumers"):
        find(*(builders.a_uuid() for _ in range(CONSUMERS_MAX + 1)))


def test_a_server_between_build_request_and_cell_is_seen(
    plane: ControlPlane, cloud: Cloud, find: Finder
) -> None:
    """It may be in both, and never is in none."""
    (uuid,) = plane.build()
    assert find(uuid) == {}
