"""Images that a host is asked to fetch: one request after the other, asked about until it ends."""

import threading
from typing import cast

import pytest

from armillary import exception
from armillary.context import admin_context
from compute_agent.virt.driver import ComputeDriver, Feature
from compute_agent.work.image_fetches import ImageFetcher
from compute_agent.work.image_tickets import ImageTickets
from conductor.cell_conductor.interface import CellConductorAPI
from objects.images.image_meta import ImageMeta
from objects.images.image_ticket import READ, ImageTicket
from tests import builders

IMAGES = [builders.an_image(), builders.an_image(), builders.an_image()]


class Host:
    """A driver that has an image when the test says so."""

    host = "h1"
    features = frozenset({Feature.IMAGE_CACHE})

    def __init__(self) -> None:
        self.may_go_on = threading.Semaphore(0)
        self.asked: list[str] = []
        self.errors: dict[str, Exception] = {}

    def cache_image(self, image: ImageMeta) -> None:
        assert self.may_go_on.acquire(timeout=60)
        self.asked.append(image.id)
        if image.id in self.errors:
            raise self.errors[image.id]


class Fetching:
    """An agent with one host."""

    def __init__(self) -> None:
        self.host = Host()
        self.told: list[str] = []
        self._is_told = threading.Semaphore(0)
        self.tickets = ImageTickets("agent", cast("CellConductorAPI", None))
        drivers = {"h1": cast("ComputeDriver", self.host)}
        self.fetcher = ImageFetcher("agent", drivers, self.tickets, self._tell)
        self.context = admin_context()

    def go_on(self, count: int) -> None:
        """Let some images be fetched."""
        self.host.may_go_on.release(count)
        for _ in range(count):
            assert self._is_told.acquire(timeout=60)

    def _tell(self, host: str) -> None:
        self.told.append(host)
        self._is_told.release()

    def ask(self) -> tuple[list[str], list[str], dict[str, str]]:
        found = self.fetcher.ask(self.context, "h1", IMAGES, [])
        return found.cached, found.fetching, found.failed


@pytest.fixture
def fetching() -> Fetching:
    return Fetching()


def test_a_request_is_asked_about_until_it_ends(fetching: Fetching) -> None:
    """Each image is fetched once, however often is asked; the host is reported each time."""
    first, second, third = (image.id for image in IMAGES)
    assert fetching.ask() == ([], [first, second, third], {})
    fetching.go_on(1)
    assert fetching.ask() == ([first], [second, third], {})
    fetching.go_on(2)
    assert fetching.ask() == ([first, second, third], [], {})
    assert (fetching.host.asked, fetching.told) == ([first, second, third], ["h1"] * 3)


def test_what_fails_says_why_and_does_not_keep_others_out(fetching: Fetching) -> None:
    """Whatever the driver raises."""
    first, second, third = (image.id for image in IMAGES)
    fetching.host.errors = {first: exception.ImageNotFound(image=first), second: OSError("full")}
    fetching.ask()
    fetching.go_on(3)
    failed = {first: f"Image {first} could not be found.", second: "full"}
    assert fetching.ask() == ([third], [], failed)


def test_another_request_tries_again(fetching: Fetching) -> None:
    first = IMAGES[0].id
    fetching.host.errors = {first: OSError("full")}
    fetching.ask()
    fetching.go_on(3)
    fetching.host.errors.clear()
    fetching.context = admin_context()
    fetching.ask()
    fetching.go_on(3)
    assert fetching.ask() == ([image.id for image in IMAGES], [], {})


def test_a_driver_without_images_says_so(fetching: Fetching) -> None:
    fetching.host.features = frozenset()
    with pytest.raises(exception.OperationUnsupported, match="keeps no images"):
        fetching.ask()
    with pytest.raises(exception.HostNotFound):
        fetching.fetcher.ask(fetching.context, "h2", IMAGES, [])


def test_tickets_are_kept_until_their_image_is_fetched(fetching: Fetching) -> None:
    """The newest of each; none is kept for what has ended."""
    (_first, second, _third) = IMAGES
    get = fetching.tickets.of_host("h1")

    def ask(token: str) -> list[str | None]:
        tickets = [ImageTicket(image.id, "http://127.0.0.1:9", token) for image in IMAGES]
        fetching.fetcher.ask(fetching.context, "h1", IMAGES, tickets)
        kept = [get(image.id, READ, None) for image in IMAGES]
        return [None if ticket is None else ticket.token for ticket in kept]

    assert ask("1") == ["1", "1", "1"]
    fetching.go_on(1)
    assert ask("2") == [None, "2", "2"]
    assert fetching.tickets.of_host("h2")(second.id, READ, None) is None
    fetching.go_on(2)
    assert ask("3") == [None, None, None]
