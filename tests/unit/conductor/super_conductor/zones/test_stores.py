"""Tests of where zones keep what they know: in stores of their own, wherever these are."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import sqlalchemy as sa

from armillary import exception
from conductor.common.cell_db.models import Base as CellBase
from conductor.super_conductor.db.models import Base as ApiBase
from objects.instances.operation_arguments import OperationArguments
from placement.db.models import Base as PlacementBase
from tests.fixtures.control_plane import API_SCHEMA, a_user
from tests.fixtures.services import POSTGRESQL
from tests.fixtures.services.databases import SyncedDatabases
from tests.fixtures.zones import Zone, root, zone_tree
from tests.unit.conductor.super_conductor.zones.test_servers_elsewhere import delete, listed
from tests.unit.conductor.super_conductor.zones.test_walk import child, create, show

pytestmark = pytest.mark.sampled_tests(every=2)

__all__ = ["root"]


@pytest.fixture(params=["local files", pytest.param("one server", marks=pytest.mark.postgresql)])
def anywhere(
    request: pytest.FixtureRequest, tmp_path: Path, synced_databases: SyncedDatabases
) -> Iterator[Zone]:
    """Lend a tree that has a file for each store, and one whose zones share a server."""
    with ExitStack() as databases:

        def new_url() -> str:
            return databases.enter_context(synced_databases.lend(POSTGRESQL, API_SCHEMA))

        with zone_tree(tmp_path, None if request.param == "local files" else new_url) as made:
            yield made


def test_a_central_server_is_possible_and_not_needed(anywhere: Zone) -> None:
    """BZ-06: the whole life of a server, from an attempt that fails to its delete."""
    child(anywhere, "eu").cell().failing_hosts = {"cell1-host1"}
    (uuid,) = create(anywhere, "eu:cell1-host1", "eu/eu-1:cell1-host1", "us:cell1-host1")
    anywhere.walk()
    assert (show(anywhere, uuid).vm_state, show(anywhere, uuid).zone) == ("active", "eu/eu-1")
    anywhere.endpoint.operate_server(a_user(), uuid, "stop", OperationArguments())
    assert [begun[:2] for begun in child(anywhere, "eu-1").cell().begun] == [(uuid, "stop")]
    delete(anywhere, uuid)
    anywhere.settle_all()
    assert anywhere.living(uuid) == []
    with pytest.raises(exception.InstanceNotFound):
        show(anywhere, uuid)


@pytest.mark.parametrize(
    "metadata",
    [ApiBase.metadata, CellBase.metadata, PlacementBase.metadata],
    ids=["api", "cell", "placement"],
)
def test_no_table_points_out_of_its_store(metadata: sa.MetaData) -> None:
    """BZ-07: what is elsewhere is a plain value: a host, a cell, a zone, a provider."""
    targets = {
        key.target_fullname.partition(".")[0]
        for table in metadata.tables.values()
        for key in table.foreign_keys
    }
    assert targets <= set(metadata.tables)
    elsewhere = {"host", "node", "cell_uuid", "zone_path", "path", "host_id", "origin"}
    owners = {"host_mappings"}  # cells are in the same store
    for table in metadata.tables.values():
        for key in table.foreign_keys:
            assert key.parent.name not in elsewhere or table.name in owners, key


def test_a_zone_whose_stores_are_lost_leaves_the_others_usable(root: Zone, tmp_path: Path) -> None:
    """BZ-07: what lives elsewhere is listed, new servers are built, and old ones deleted."""
    (lost,) = create(root, "eu:cell1-host1")
    root.walk()
    (kept,) = create(root, "us:cell1-host1")
    root.walk()
    root.bus_to(child(root, "eu")).is_down = True
    shutil.rmtree(tmp_path / "eu")
    assert listed(root) == [kept]
    with pytest.raises(exception.ZoneUnavailable):
        show(root, lost)
    (new,) = create(root, "us:cell1-host2")
    for _ in range(5):
        child(root, "us").workers.work()
        root.workers.work()
        root.clock.advance(3)
        root.builds.continue_walks()
    assert show(root, new).vm_state == "active"
    delete(root, kept)
