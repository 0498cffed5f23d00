"""Tests of ``armillary-manage image``: the key of hosts' tickets for images is replaced."""

import dataclasses
import time

import pytest
from oslo_config import cfg

from armillary import exception
from armillary.conf import image, register
from armillary.context import admin_context
from armillary.db import Database
from conductor.common.clock import moment
from conductor.super_conductor.db import instance_mappings
from conductor.super_conductor.db.catalogue import images
from conductor.super_conductor.db.instance_mappings import NewMapping
from conductor.super_conductor.servers.image_tickets import ImageTickets
from objects.images.image_record import PUBLIC, ImageRecord
from objects.images.image_ticket import READ
from tests import builders
from tests.unit.programs.operator.conftest import Run


@dataclasses.dataclass(frozen=True)
class Conductors:
    """Super conductors on one database, and an image with data."""

    database: Database
    record: ImageRecord
    conf: cfg.ConfigOpts

    def start(self) -> ImageTickets:
        return ImageTickets(self.conf, self.database, time.time)

    def issue(self, conductor: ImageTickets) -> str:
        ticket = conductor.ticket(self.record)
        assert ticket is not None
        return ticket.token

    def redeem(self, conductor: ImageTickets, token: str) -> str:
        image_id = str(self.record.image.id)
        found = conductor.redeem_image_ticket(admin_context(), token, image_id, READ)
        return str(found.image.id)


@pytest.fixture
def conductors(api_database: Database) -> Conductors:
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    register(conf, image)
    conf.set_override("endpoint", "https://api.example.org:8774/image", group="image")
    record = ImageRecord(builders.an_image(size_bytes=7), "p1", PUBLIC, sha512="0" * 128)
    with api_database.writer() as session:
        images.create_record(session, record, now=moment(time.time()))
    return Conductors(api_database, record, conf)


def test_tickets_of_the_former_key_count_for_a_while(
    run_manage: Run, conductors: Conductors
) -> None:
    """Nothing is restarted: each conductor signs with the new key, and knows both."""
    one, other = conductors.start(), conductors.start()
    before = conductors.issue(one)
    ended = run_manage("image", "rotate-ticket-key")
    assert (ended.code, "accepted for 600 s" in ended.out) == (0, True)
    after = conductors.issue(one)
    for token in (before, after):
        assert conductors.redeem(other, token) == conductors.record.image.id


def test_servers_in_child_zones_keep_their_tickets(run_manage: Run, conductors: Conductors) -> None:
    """For their zone cannot ask for others; a thief's end with the key of their own."""
    conductor, server = conductors.start(), builders.a_uuid()
    with conductors.database.writer() as session:
        mapping = NewMapping(server, "r-1", "p1", "u1", 1, 512, moment(time.time()))
        instance_mappings.add_mappings(session, [mapping])
    (ticket,) = conductor.of_servers(conductors.record.image, [server])
    for words in ((), ("--overlap-seconds", "0")):
        assert run_manage("image", "rotate-ticket-key", *words).code == 0
        assert conductors.redeem(conductor, ticket.token) == conductors.record.image.id
    ended = run_manage("image", "rotate-ticket-key", "--overlap-seconds", "0", "--of-servers")
    assert (ended.code, "Hosts of child zones can no longer read" in ended.out) == (0, True)
    with pytest.raises(exception.Unauthorized):
        conductors.redeem(conductor, ticket.token)
    (later,) = conductor.of_servers(conductors.record.image, [server])
    assert conductors.redeem(conductors.start(), later.token) == conductors.record.image.id


def test_a_stolen_key_signs_nothing_any_more(run_manage: Run, conductors: Conductors) -> None:
    """In every process immediately; what was issued meanwhile is refused, and asked for again."""
    one, other = conductors.start(), conductors.start()
    before = conductors.issue(one)
    assert run_manage("image", "rotate-ticket-key", "--overlap-seconds", "0").code == 0
    for conductor in (one, other):
        with pytest.raises(exception.Unauthorized):
            conductors.redeem(conductor, before)
    assert conductors.redeem(other, conductors.issue(one)) == conductors.record.image.id


def test_a_key_does_not_return_with_a_later_rotation(
    run_manage: Run, conductors: Conductors
) -> None:
    """The former key is always that which was used last."""
    conductor = conductors.start()
    stolen = conductors.issue(conductor)
    assert run_manage("image", "rotate-ticket-key", "--overlap-seconds", "0").code == 0
    assert run_manage("image", "rotate-ticket-key").code == 0
    with pytest.raises(exception.Unauthorized):
        conductors.redeem(conductor, stolen)


def test_a_key_is_replaced_before_there_was_one(run_manage: Run, conductors: Conductors) -> None:
    """An operator may rotate it first of all."""
    assert run_manage("image", "rotate-ticket-key").code == 0
    conductor = conductors.start()
    assert conductors.redeem(conductor, conductors.issue(conductor)) == conductors.record.image.id
