"""Tickets for images: for the host that needs the image now, and for no other."""

import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.cell_conductor.base_task import Environment
from conductor.cell_conductor.operations.image_tickets import ImageTickets
from conductor.super_conductor.interface import SuperConductorAPI
from objects.images.image_meta import ImageMeta
from objects.images.image_ticket import READ, WRITE
from tests import builders
from tests.fixtures.cell import Cell
from tests.fixtures.cell.operated_cell import HOSTS, OperatedCell
from tests.fixtures.cell.operation_stories import IMAGE, STORIES, Stage

OTHER = builders.a_uuid()


def tickets_of(cell: Cell) -> ImageTickets:
    env = Environment(cell.conf, cell.database, cell.clock, lambda: True)
    return ImageTickets(env, SuperConductorAPI(cell.top_bus))


def opened(cell: OperatedCell, access: str, *images: str) -> dict[str, set[str]]:
    """Return host -> images that its agent gets a ticket for; hosts that get none are left out."""
    found: dict[str, set[str]] = {}
    tickets = tickets_of(cell)
    for host in HOSTS:
        for image in (*images, OTHER):
            try:
                got = tickets.get_image_ticket(
                    admin_context(), host, host, cell.uuid, image, access
                )
            except exception.Forbidden:
                continue
            assert got is not None
            assert (got.image_id, got.url.rpartition("/")[2]) == (image, access)
            found.setdefault(host, set()).add(image)
    return found


def own_image(cell: OperatedCell) -> str:
    image = cell.get(cell.uuid).image
    assert isinstance(image, ImageMeta)
    return str(image.id)


def test_the_image_of_a_server_is_for_its_host(stage: Stage) -> None:
    """To read, and nothing else; not for another agent that names that host."""
    cell = stage.set(STORIES["stop"])
    own = own_image(cell)
    assert opened(cell, READ, own) == {"a": {own}}
    assert opened(cell, WRITE, own) == {}
    with pytest.raises(exception.Forbidden, match="has nothing to read"):
        tickets_of(cell).get_image_ticket(admin_context(), "b", "a", cell.uuid, own, READ)
    with pytest.raises(exception.Forbidden):
        tickets_of(cell).get_image_ticket(admin_context(), "a", "a", builders.a_uuid(), own, READ)


def test_a_snapshot_is_written_by_its_host_while_it_is_made(stage: Stage) -> None:
    cell = stage.set(STORIES["snapshot"])
    assert opened(cell, WRITE, IMAGE.id) == {}
    for act in STORIES["snapshot"].acts():
        act(cell)
    assert opened(cell, WRITE, IMAGE.id, own_image(cell)) == {"a": {IMAGE.id}}
    cell.settle()
    assert opened(cell, WRITE, IMAGE.id) == {}


def test_a_server_is_rescued_with_another_image(stage: Stage) -> None:
    """Which its host may read until it has."""
    cell = stage.set(STORIES["stop"])
    cell.operate(cell.uuid, "rescue", image=IMAGE)
    own = own_image(cell)
    assert opened(cell, READ, IMAGE.id, own) == {"a": {IMAGE.id, own}}
    cell.settle()
    assert opened(cell, READ, IMAGE.id, own) == {"a": {own}}


def test_the_destination_of_a_move_may_read_the_image(stage: Stage) -> None:
    """Also before the instance is there."""
    cell = stage.set(STORIES["migrate"])
    own = own_image(cell)
    for act in STORIES["migrate"].acts():
        act(cell)
    seen = [opened(cell, READ, own)]
    while cell.operation is not None:
        cell.step()
        seen.append(opened(cell, READ, own))
    assert {"a": {own}, "b": {own}} in seen
    assert all("c" not in found for found in seen)


def test_an_unshelved_server_is_built_from_its_own_disk(stage: Stage) -> None:
    cell = stage.set(STORIES["unshelve-files"])
    payload = cell.row(cell.uuid).migration_payload or {}
    shelved = payload["shelved_image"]["armillary_object.data"]["id"]
    own = own_image(cell)
    assert opened(cell, READ, shelved, own) == {}
    for act in STORIES["unshelve-files"].acts():
        act(cell)
    seen = []
    while cell.operation is not None:
        seen.append(opened(cell, READ, shelved, own))
        cell.step()
    assert {"b": {shelved, own}} in seen
    assert all(set(found) <= {"b"} for found in seen)


def test_a_deleted_server_opens_nothing(stage: Stage) -> None:
    cell = stage.set(STORIES["stop"])
    own = own_image(cell)
    cell.ask_delete(cell.uuid)
    cell.settle()
    assert opened(cell, READ, own) == {}


def test_another_access_is_refused(stage: Stage) -> None:
    cell = stage.set(STORIES["stop"])
    with pytest.raises(exception.Invalid, match="access must be"):
        tickets_of(cell).get_image_ticket(
            admin_context(), "a", "a", cell.uuid, own_image(cell), "delete"
        )
