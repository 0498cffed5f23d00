"""Tickets for images: which images a cell's hosts may read and write for a server."""

import dataclasses
from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.common.clock import moment
from conductor.super_conductor.db import cell_changes, models
from conductor.super_conductor.db.catalogue import images
from conductor.super_conductor.servers.image_tickets import ImageTickets
from objects.images.image_record import (
    COMMUNITY,
    INSTANCE_UUID,
    PENDING_DELETE,
    PRIVATE,
    PUBLIC,
    SAVING,
    SHARED,
    ImageRecord,
)
from objects.images.image_ticket import READ, WRITE, ImageTicket
from tests import builders
from tests.fixtures.control_plane import ControlPlane

ENDPOINT = "https://api.example.org:8774/image/"


class Tickets:
    """A server of project p1, and tickets for its cell."""

    def __init__(self, plane: ControlPlane) -> None:
        plane.map_hosts()
        (self.uuid,) = plane.build()
        self.plane = plane
        self.cell_uuid = next(iter(plane.cells))
        plane.conf.set_override("endpoint", ENDPOINT, group="image")
        self.tickets = ImageTickets(plane.conf, plane.database, plane.clock)

    def add(
        self,
        owner: str,
        visibility: str = PRIVATE,
        *,
        members: dict[str, str] | None = None,
        **values: Any,
    ) -> str:
        """Add an image with data; return its id."""
        image = builders.an_image(size_bytes=7, **values)
        record = ImageRecord(image, owner, visibility, sha512="0" * 128, members=members or {})
        with self.plane.database.writer() as session:
            images.create_record(session, record, now=moment(self.plane.clock()))
        return str(image.id)

    def issue(
        self, image_id: str, access: str = READ, cell_uuid: str | None = None
    ) -> ImageTicket | None:
        return self.tickets.issue_image_ticket(
            admin_context(), cell_uuid or self.cell_uuid, self.uuid, image_id, access
        )


@pytest.fixture
def tickets(plane: ControlPlane) -> Tickets:
    return Tickets(plane)


def test_a_ticket_names_the_data_and_where_it_is(tickets: Tickets) -> None:
    """And opens it until it expires."""
    image_id = tickets.add("p1")
    found = tickets.issue(image_id)
    assert found is not None
    assert dataclasses.astuple(dataclasses.replace(found, token="")) == (
        image_id, f"{ENDPOINT}v2/transfers/{image_id}", "", 7, "0" * 128,
    )  # fmt: skip
    redeem = tickets.tickets.redeem_image_ticket
    assert redeem(admin_context(), found.token, image_id, READ).image.id == image_id
    tickets.plane.clock.advance(tickets.plane.conf.image.ticket_lifetime_seconds)
    with pytest.raises(exception.Unauthorized, match="has expired"):
        redeem(admin_context(), found.token, image_id, READ)


def test_another_conductor_redeems_it(tickets: Tickets) -> None:
    """They share the key; that of another deployment is another one."""
    image_id = tickets.add("p1")
    found = tickets.issue(image_id)
    assert found is not None
    other = ImageTickets(tickets.plane.conf, tickets.plane.database, tickets.plane.clock)
    assert other.redeem_image_ticket(admin_context(), found.token, image_id, READ)


@pytest.mark.parametrize(
    ("owner", "visibility", "values"),
    [
        ("p1", PRIVATE, {}),
        ("p2", PUBLIC, {}),
        ("p2", COMMUNITY, {}),
        ("p2", SHARED, {"members": {"p1": "pending"}}),
    ],
    ids=["own", "public", "community", "shared"],
)
def test_what_a_project_may_use_is_read_for_its_servers(
    tickets: Tickets, owner: str, visibility: str, values: dict[str, Any]
) -> None:
    assert tickets.issue(tickets.add(owner, visibility, **values)) is not None


@pytest.mark.parametrize(
    ("visibility", "values"),
    [(PRIVATE, {}), (SHARED, {}), (SHARED, {"members": {"p3": "accepted"}})],
    ids=["private", "shared with none", "shared with others"],
)
def test_images_of_other_projects_are_not(
    tickets: Tickets, visibility: str, values: dict[str, Any]
) -> None:
    """Also if they say that they are of this server: any user may write that."""
    for properties in ({}, {INSTANCE_UUID: tickets.uuid}):
        with pytest.raises(exception.ImageNotFound):
            tickets.issue(tickets.add("p2", visibility, properties=properties, **values))


def test_what_a_server_was_accepted_with_is_read_for_it(tickets: Tickets) -> None:
    """Though its owner has withdrawn the image; other servers get it no more."""
    image_id, before = tickets.add("p2", PUBLIC), tickets.uuid
    (tickets.uuid,) = tickets.plane.build(image=image_id)
    with tickets.plane.database.writer() as session:
        session.get_one(models.Image, image_id).visibility = PRIVATE
    assert tickets.issue(image_id) is not None
    tickets.uuid = before
    with pytest.raises(exception.ImageNotFound):
        tickets.issue(image_id)


def test_another_cell_gets_no_ticket(tickets: Tickets) -> None:
    """Unless the server moves to it."""
    image_id, other = tickets.add("p1"), builders.a_uuid()
    with pytest.raises(exception.InstanceNotFound):
        tickets.issue(image_id, cell_uuid=other)
    move, now = builders.a_uuid(), moment(tickets.plane.clock())
    with tickets.plane.database.writer() as session:
        cell_changes.allow(session, move, tickets.uuid, tickets.cell_uuid, now=now)
        cell_changes.set_target(session, move, other)
    assert tickets.issue(image_id, cell_uuid=other) is not None


def test_only_a_snapshot_of_the_server_is_written(tickets: Tickets) -> None:
    """While it waits for its data."""
    of_it = {INSTANCE_UUID: tickets.uuid}
    saving = tickets.add("p1", status=SAVING, properties=of_it)
    assert tickets.issue(saving, WRITE) is not None
    for refused in (
        tickets.add("p1", properties=of_it),
        tickets.add("p1", status=SAVING),
        tickets.add("p2", PUBLIC, status=SAVING, properties=of_it),
    ):
        with pytest.raises(exception.ImageNotFound):
            tickets.issue(refused, WRITE)


def test_an_image_that_is_to_be_deleted_is_gone(tickets: Tickets) -> None:
    """Also for the holder of a ticket."""
    image_id = tickets.add("p1")
    found = tickets.issue(image_id)
    assert found is not None
    with tickets.plane.database.writer() as session:
        session.get_one(models.Image, image_id).status = PENDING_DELETE
    with pytest.raises(exception.ImageNotFound):
        tickets.issue(image_id)
    with pytest.raises(exception.ImageNotFound):
        tickets.tickets.redeem_image_ticket(admin_context(), found.token, image_id, READ)


def test_there_is_no_ticket_without_a_way_or_data(tickets: Tickets) -> None:
    """Hosts look for such images themselves."""
    image_id = tickets.add("p1")
    empty = tickets.plane.add_image("empty").id
    assert tickets.issue(empty) is None
    tickets.plane.conf.clear_override("endpoint", group="image")
    assert tickets.issue(image_id) is None
