"""Tests of storing cells, and of what keeps one from being deleted."""

from typing import Any

import pytest

from armillary import exception
from armillary.db import Database
from conductor.super_conductor.db import cells, host_mappings, instance_mappings, metadata_seq
from objects.cell_mapping import CELL0_UUID
from tests.fixtures.control_plane import NOW, ControlPlane

URL = "rabbit://u:p@broker/cell1"


def create(database: Database, name: str = "cell1", **values: Any) -> str:
    with database.writer() as session:
        made = cells.create_cell(session, name=name, transport_url=URL, now=NOW, **values)
    return made.uuid


def test_a_cell_is_found_by_uuid_and_by_name(api_database: Database) -> None:
    """Both name it."""
    uuid = create(api_database, disabled=True)
    with api_database.reader() as session:
        by_uuid, by_name = cells.get_cell(session, uuid), cells.get_cell(session, "cell1")
    assert by_uuid.uuid == by_name.uuid == uuid
    assert (by_name.transport_url, by_name.disabled) == (URL, True)


def test_an_unknown_cell_is_not_found(api_database: Database) -> None:
    """Neither by name nor by UUID."""
    with api_database.reader() as session, pytest.raises(exception.CellNotFound):
        cells.get_cell(session, "none")


def test_cells_are_listed_by_name(api_database: Database) -> None:
    """Whenever they were made."""
    for name in ("b", "a"):
        create(api_database, name)
    with api_database.reader() as session:
        assert [cell.name for cell in cells.list_cells(session)] == ["a", "b"]


def test_a_name_is_taken_once(api_database: Database) -> None:
    """And so is a UUID."""
    uuid = create(api_database)
    with pytest.raises(exception.CellExists):
        create(api_database)
    with pytest.raises(exception.CellExists):
        create(api_database, "cell2", chosen_uuid=uuid)


def test_cell0_is_none_of_them(api_database: Database) -> None:
    """Its database is the super conductor's own."""
    with pytest.raises(exception.CellExists):
        create(api_database, chosen_uuid=CELL0_UUID)


@pytest.mark.parametrize("name", ["", "  ", "n" * 256])
def test_a_bad_name_is_refused(api_database: Database, name: str) -> None:
    """Too short, blank, too long."""
    with pytest.raises(exception.Invalid):
        create(api_database, name)


def test_a_cell_can_be_changed(api_database: Database) -> None:
    """Its name, its broker, whether it gets new servers."""
    create(api_database)
    changes = {"name": "east", "transport_url": "rabbit://other", "disabled": True}
    with api_database.writer() as session:
        changed = cells.update_cell(session, "cell1", changes, now=NOW)
    assert (changed.name, changed.transport_url, changed.disabled) == tuple(changes.values())


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"colour": "red"}, exception.Invalid),
        ({"name": ""}, exception.Invalid),
        ({"name": "cell2"}, exception.CellExists),
    ],
    ids=["unknown", "empty", "taken"],
)
def test_a_bad_change_is_refused(
    api_database: Database, values: dict[str, Any], error: type[Exception]
) -> None:
    """The cell stays as it is."""
    create(api_database)
    create(api_database, "cell2")
    with api_database.writer() as session, pytest.raises(error):
        cells.update_cell(session, "cell1", values, now=NOW)


def test_every_change_is_counted(api_database: Database) -> None:
    """Schedulers are told by that number."""

    def seq() -> int:
        return api_database.read(metadata_seq.get_seq)

    seen = [seq()]
    create(api_database)
    seen.append(seq())
    with api_database.writer() as session:
        cells.update_cell(session, "cell1", {"disabled": True}, now=NOW)
    seen.append(seq())
    with api_database.writer() as session:
        cells.delete_cell(session, "cell1")
    seen.append(seq())
    assert seen == sorted(set(seen))


# Deleting


def refusal(plane: ControlPlane, *, force: bool = False) -> str | None:
    try:
        with plane.database.writer() as session:
            cells.delete_cell(session, "cell1", force=force)
    except exception.CellInUse as error:
        because: str = error.kwargs["because"]
        return because
    return None


def test_an_empty_cell_is_deleted(plane: ControlPlane) -> None:
    """Nothing depends on it."""
    assert refusal(plane) is None


def test_hosts_keep_a_cell_unless_it_is_forced(plane: ControlPlane) -> None:
    """Their mappings go with it then."""
    plane.map_hosts()
    assert refusal(plane) == "hosts"
    assert refusal(plane, force=True) is None
    with plane.database.reader() as session:
        assert host_mappings.list_host_mappings(session) == []


def test_living_servers_keep_a_cell_always(plane: ControlPlane) -> None:
    """Forced or not."""
    plane.build()
    assert refusal(plane, force=True) == "instances"


def test_servers_on_their_way_to_it_keep_a_cell_always(plane: ControlPlane) -> None:
    """It was chosen for them, and may know of them."""
    (cell,) = plane.cells.values()
    plane.create()
    found: list[str | None] = []
    cell.before_answer = lambda: found.append(refusal(plane, force=True))
    plane.workers.work()
    assert found == ["instances"]


def test_mappings_of_deleted_servers_keep_a_cell_unless_it_is_forced(plane: ControlPlane) -> None:
    """They are leftovers."""
    (uuid,) = plane.build()
    plane.delete(uuid)
    with plane.database.writer() as session:
        for host in ("cell1-host1", "cell1-host2"):
            host_mappings.delete_host_mapping(session, host)
    assert refusal(plane) == "leftovers"
    assert refusal(plane, force=True) is None
    with plane.database.reader() as session:
        assert instance_mappings.find_mapping(session, uuid) is None
