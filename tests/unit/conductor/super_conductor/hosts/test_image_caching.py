"""Hosts of an aggregate fetch images, and what became of it is told of each."""

import logging
from typing import Any

import pytest

from armillary import exception
from conductor.common.clock import moment
from conductor.super_conductor.db import models
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.hosts.image_caching import UNANSWERED_MAX, ImageCaching
from conductor.super_conductor.servers.image_tickets import ImageTickets
from objects.hosts.image_fetches import ImageFetches
from objects.images.image_meta import ImageMeta
from tests.fixtures.cell import Clock
from tests.fixtures.control_plane import ControlPlane, Workers, an_admin
from tests.fixtures.stand_ins.told import Told
from tests.fixtures.super_conductor.fake_cell_conductor import CellConductor


class Caching:
    """An aggregate with the two hosts of a cell, and what is told of their images."""

    def __init__(self, plane: ControlPlane) -> None:
        self.cell: CellConductor = next(iter(plane.cells.values()))
        self.plane = plane
        self.told = Told()
        self.clock = Clock()
        self.workers = Workers()
        plane.map_hosts()
        self.images = [plane.add_image("one"), plane.add_image("two")]
        now = moment(plane.clock())
        with plane.database.writer() as session:
            made = aggregates.create_aggregate(session, "rack", None, now=now)
            for host in ("cell1-host1", "cell1-host2"):
                aggregates.add_host(session, made.uuid, host, now=now)
        self.uuid = made.uuid
        assert plane.links is not None
        self.endpoint = ImageCaching(
            plane.conf, plane.database, plane.links, self.told.notifier,
            tickets=ImageTickets(plane.conf, plane.database, plane.clock),
            clock=self.clock, poll_seconds=0.0, workers=self.workers,
        )  # fmt: skip

    @property
    def ids(self) -> list[str]:
        return [image.id for image in self.images]

    def run(self, *answers: ImageFetches | Exception) -> None:
        """Ask for both images; questions to the cell are answered so."""
        self.cell.fetches = list(answers)
        self.endpoint.cache_images(an_admin(), self.uuid, self.ids)
        self.workers.work()

    def progress(self) -> list[tuple[Any, ...]]:
        names = ("host", "images_cached", "images_failed", "index", "total")
        return [tuple(one.facts[name] for name in names) for one in self.told.told[1:-1]]

    def phases(self) -> list[str]:
        return [one.event_type.rpartition(".")[2] for one in self.told.told]


@pytest.fixture
def caching(plane: ControlPlane) -> Caching:
    return Caching(plane)


def test_hosts_are_asked_one_after_the_other_until_they_have_the_images(
    caching: Caching, caplog: pytest.LogCaptureFixture
) -> None:
    """Each as long as it fetches; then it is logged and notified."""
    caplog.set_level(logging.INFO)
    done, ids = ImageFetches(cached=caching.ids), caching.ids
    caching.run(ImageFetches(fetching=ids), ImageFetches([ids[0]], [ids[1]]), done, done)
    hosts = ["cell1-host1"] * 3 + ["cell1-host2"]
    assert [host for host, _ in caching.cell.fetches_asked] == hosts
    assert {tuple(image.id for image in asked) for _, asked in caching.cell.fetches_asked} == {
        tuple(ids)
    }
    assert caching.phases() == ["start", "progress", "progress", "end"]
    assert caching.progress() == [("cell1-host1", ids, [], 1, 2), ("cell1-host2", ids, [], 2, 2)]
    assert all(one.versioned() for one in caching.told.told)
    assert "host cell1-host2 has the images" in caplog.text


def test_a_host_that_cannot_says_why_and_does_not_keep_others_out(
    caching: Caching, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether its driver keeps no images, or an image fails."""
    first, second = caching.ids
    refusal = exception.OperationUnsupported(host="h", operation="x", reason="no images here")
    caching.run(refusal, ImageFetches([first], [], {second: "no room"}))
    assert caching.progress() == [
        ("cell1-host1", [], [first, second], 1, 2),
        ("cell1-host2", [first], [second], 2, 2),
    ]
    assert "host cell1-host1 has 0 of 2 images: Host h cannot x: no images here" in caplog.text
    assert "host cell1-host2 has 1 of 2 images: no room" in caplog.text


def test_a_host_that_does_not_answer_is_asked_a_few_times(caching: Caching) -> None:
    """In a row: one that answers occasionally is slow, not down."""
    lost = exception.RpcTimeout(method="m", topic="t", timeout_seconds=1)
    done = ImageFetches(cached=caching.ids)
    fetching = ImageFetches(fetching=caching.ids)
    few = [lost] * (UNANSWERED_MAX - 1)
    caching.run(*few, fetching, *few, done, *[lost] * UNANSWERED_MAX)
    assert [one[:3] for one in caching.progress()] == [
        ("cell1-host1", caching.ids, []),
        ("cell1-host2", [], caching.ids),
    ]


def test_a_host_that_takes_too_long_is_left_alone(caching: Caching) -> None:
    """Its agent goes on."""
    caching.plane.conf.set_override("precache_timeout_seconds", 60, group="image_cache")
    first, second = caching.ids
    slow = ImageFetches([first], [second])

    def later() -> None:
        caching.clock.advance(31)

    caching.cell.before_fetches = later
    caching.run(slow, slow, slow, slow)
    assert [one[:3] for one in caching.progress()] == [
        (host, [first], [second]) for host in ("cell1-host1", "cell1-host2")
    ]


def test_hosts_get_new_tickets_with_each_question(caching: Caching) -> None:
    """A host may wait for long before it comes to an image; without data there is none."""
    caching.plane.conf.set_override("endpoint", "http://127.0.0.1:9/image", group="image")
    with caching.plane.database.writer() as session:
        row = session.get_one(models.Image, caching.ids[0])
        row.sha512, row.size_bytes = "0" * 128, 7
    caching.cell.before_fetches = lambda: caching.plane.clock.advance(60)
    done = ImageFetches(cached=caching.ids)
    caching.run(ImageFetches(fetching=caching.ids), done, done)
    given = [[ticket.image_id for ticket in tickets] for tickets in caching.cell.tickets_given]
    assert given == [caching.ids[:1]] * 3
    assert len({tickets[0].token for tickets in caching.cell.tickets_given}) == 3


def test_hosts_get_no_passwords_of_images(caching: Caching) -> None:
    """Only a server's host needs these."""
    secret: ImageMeta = caching.plane.add_image(
        "three", properties={"process_environment": "{}", "os_distro": "debian"}
    )
    caching.images = [secret]
    done = ImageFetches(cached=[secret.id])
    caching.run(done, done)
    ((_, [asked]), _) = caching.cell.fetches_asked
    assert asked.properties == {"os_distro": "debian"}


def test_what_cannot_be_fetched_is_refused(caching: Caching) -> None:
    """Immediately, and nothing is asked or told."""
    queued = caching.plane.add_image("queued", status="queued")
    ask = caching.endpoint.cache_images
    with pytest.raises(exception.AggregateNotFound):
        ask(an_admin(), "99", caching.ids)
    with pytest.raises(exception.ImageNotFound):
        ask(an_admin(), caching.uuid, ["nothing"])
    with pytest.raises(exception.Invalid, match="is queued, not active"):
        ask(an_admin(), caching.uuid, [queued.id])
    caching.workers.are_busy = True
    with pytest.raises(exception.Unavailable):
        ask(an_admin(), caching.uuid, caching.ids)
    caching.workers.work()
    assert (caching.told.told, caching.cell.fetches_asked) == ([], [])


def test_a_conductor_that_stops_says_what_it_leaves(
    caching: Caching, caplog: pytest.LogCaptureFixture
) -> None:
    caching.cell.fetches = []
    caching.endpoint.cache_images(an_admin(), caching.uuid, caching.ids)
    caching.endpoint.stop()
    caching.workers.work()
    assert "hosts that have not been asked to fetch images: 2" in caplog.text
    assert caching.phases() == ["start"]
