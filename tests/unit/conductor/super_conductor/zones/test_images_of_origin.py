"""Data of images for servers that live in another zone: read from the origin's image service."""

import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.common.clock import moment
from conductor.super_conductor.db.catalogue import images
from conductor.super_conductor.servers.image_tickets import ImageTickets
from objects.images.image_record import PUBLIC, ImageRecord
from objects.images.image_ticket import READ, WRITE, ImageTicket
from tests import builders
from tests.fixtures.control_plane import a_user
from tests.fixtures.zones import Zone, root
from tests.unit.conductor.super_conductor.zones.test_walk import child

__all__ = ["root"]

ENDPOINT = "https://api.example.org/image"
PLACE = "eu/eu-1"


def stored(root: Zone) -> str:
    """Add an image with data to the origin; return its id."""
    image = builders.an_image(size_bytes=7, disk_format="raw")
    record = ImageRecord(image, "p2", PUBLIC, sha512="0" * 128)
    with root.database.writer() as session:
        images.create_record(session, record, now=moment(root.clock()))
    return str(image.id)


def built(root: Zone, image: str) -> str:
    """Return a server of the grandchild."""
    root.scheduler.zone_entries = root.entries(f"{PLACE}:cell1-host1")
    (uuid,) = root.create(1, image=image)
    root.walk()
    return uuid


def tickets(zone: Zone) -> ImageTickets:
    return ImageTickets(zone.conf, zone.database, zone.clock)


def issue(root: Zone, uuid: str, image: str, access: str = READ) -> ImageTicket:
    """Return what a host of the server's zone gets."""
    zone = child(root, "eu-1")
    found = tickets(zone).issue_image_ticket(admin_context(), zone.cell().uuid, uuid, image, access)
    assert found is not None
    return found


def redeem(root: Zone, ticket: ImageTicket, access: str = READ) -> str:
    record = tickets(root).redeem_image_ticket(
        admin_context(), ticket.token, ticket.image_id, access
    )
    return str(record.image.id)


def test_a_host_of_another_zone_reads_the_image_as_long_as_its_server_is_there(root: Zone) -> None:
    """Its zone has no image of its own; it is moved and rebuilt with the image much later."""
    root.conf.set_override("endpoint", ENDPOINT, group="image")
    image = stored(root)
    uuid = built(root, image)
    root.clock.advance(7 * 24 * 3600)
    found = issue(root, uuid, image)
    assert (found.url, found.size_bytes) == (f"{ENDPOINT}/v2/transfers/{image}", 7)
    assert redeem(root, found) == image
    for refused, access in (
        (found, WRITE), (ImageTicket(builders.a_uuid(), found.url, found.token), READ),
    ):  # fmt: skip
        with pytest.raises(exception.Unauthorized):
            redeem(root, refused, access)
    root.endpoint.delete_server(a_user(), uuid)
    with pytest.raises(exception.Unauthorized):
        redeem(root, found)


@pytest.mark.parametrize(("has_way", "access"), [(False, READ), (True, WRITE)])
def test_a_zone_says_what_is_missing(root: Zone, has_way: bool, access: str) -> None:
    """The reason is the server's fault, so an operator finds it."""
    if has_way:
        root.conf.set_override("endpoint", ENDPOINT, group="image")
    image = stored(root)
    uuid = built(root, image)
    with pytest.raises(exception.Invalid, match=rf"asked for the server, gave no way to {access}"):
        issue(root, uuid, image, access)


def test_another_image_is_not_read(root: Zone) -> None:
    root.conf.set_override("endpoint", ENDPOINT, group="image")
    uuid, other = built(root, stored(root)), stored(root)
    with pytest.raises(exception.Invalid, match="only the image that a server was created from"):
        issue(root, uuid, other)
