"""Declarations: what clients, servers and local twins make of them, among peers of another age."""

from __future__ import annotations

import dataclasses
import inspect
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from armillary import exception
from armillary.context import RequestContext, admin_context
from rpc.callers import AGENT_ITSELF, CONDUCTOR
from rpc.endpoints import handlers_of, local
from rpc.interface import Interface, Kind, call, cast, fanout
from rpc.transport import Bus
from tests.fixtures.configuration import messaging_conf

CONTEXT = admin_context()


class OlderAPI(Interface):
    """A library, as the release before declares it."""

    TOPIC = "library"
    SERVED_BY = "placement"

    @call(CONDUCTOR)
    def lend(
        self,
        context: RequestContext,
        title: str,
        *,
        days: int = 14,
        timeout_seconds: float | None = None,
    ) -> dict[str, Any]:
        """Lend a book."""  # fmt: skip

    @fanout(CONDUCTOR)
    def announce(self, context: RequestContext, titles: Sequence[str]) -> None:
        """Announce new books."""


class LibraryAPI(OlderAPI):
    """The same interface in a newer release."""

    VERSION = "1.1"

    @call(CONDUCTOR, newer_arguments={"reader": "1.1"}, timeout_seconds=5.0)
    def lend(
        self,
        context: RequestContext,
        title: str,
        *,
        days: int = 14,
        reader: str | None = None,
        timeout_seconds: float | None = None,
    ) -> dict[str, Any]:
        """Lend a book, to a reader."""  # fmt: skip

    @call(CONDUCTOR, since="1.1")
    def give_back(self, context: RequestContext, title: str) -> None:
        """Give a book back."""


class Older:
    """Serves the older interface."""

    def __init__(self) -> None:
        self.announced: list[Sequence[str]] = []

    def lend(self, context: RequestContext, title: str, days: int) -> dict[str, Any]:
        return {"title": title, "days": days}

    def announce(self, context: RequestContext, titles: Sequence[str]) -> None:
        self.announced.append(titles)


class Library(Older):
    """Serves the newer interface."""

    def lend(
        self, context: RequestContext, title: str, days: int, reader: str | None = None
    ) -> dict[str, Any]:
        if title == "lost":
            raise exception.Conflict(reason="it is lost")
        return {"title": title, "days": days, "reader": reader}

    def give_back(self, context: RequestContext, title: str) -> None:
        """Take it."""


@dataclasses.dataclass(frozen=True)
class Pinned:
    """The cap of an operator who pins a version."""

    version: str

    def of(self, server: str | None) -> str | None:
        return self.version


class Recorded(Bus):
    """Notes version and arguments of what is sent."""

    sent: list[tuple[str, str, dict[str, Any]]]

    def client(self, topic: str, **options: Any) -> Any:
        return _Recorded(super().client(topic, **options), self.sent)


class _Recorded:
    def __init__(self, client: Any, sent: Any, **options: Any) -> None:
        self._client, self._sent, self._options = client, sent, options

    def prepare(self, **options: Any) -> _Recorded:
        return _Recorded(self._client.prepare(**options), self._sent, **options)

    def call(self, context: Any, method: str, **arguments: Any) -> Any:
        self._sent.append((self._options["version"], method, arguments))
        return self._client.call(context, method, **arguments)


@pytest.fixture
def bus() -> Iterator[Recorded]:
    made = Recorded(messaging_conf(), f"kombu+memory:////{uuid.uuid4()}")
    made.sent = []
    yield made
    made.close()


def serve(bus: Bus, interface: type[Interface], endpoint: Any) -> Iterator[None]:
    server = bus.server(interface, "one", [endpoint])
    server.start()
    yield
    server.stop()
    server.wait()


@pytest.fixture
def older(bus: Recorded) -> Iterator[None]:
    yield from serve(bus, OlderAPI, Older())


@pytest.fixture
def current(bus: Recorded) -> Iterator[None]:
    yield from serve(bus, LibraryAPI, Library())


# Among peers of another age -----------------------------------------------------------------------


@pytest.mark.usefixtures("older")
def test_an_older_server_is_sent_what_it_knows(bus: Recorded) -> None:
    """An argument that it lacks is left out while it has its default."""
    found = LibraryAPI(bus, version_cap=Pinned("1.0"), timeout_seconds=10).lend(
        CONTEXT, "Emma", days=3
    )
    assert found == {"title": "Emma", "days": 3}
    assert bus.sent == [("1.0", "lend", {"title": "Emma", "days": 3})]


@pytest.mark.parametrize("ask", [
    lambda api: api.give_back(CONTEXT, "Emma"),
    lambda api: api.lend(CONTEXT, "Emma", reader="Jane"),
], ids=["a-newer-method", "a-newer-argument"])  # fmt: skip
def test_what_an_older_server_lacks_is_not_sent(bus: Recorded, ask: Any) -> None:
    """The caller learns which version is needed."""
    with pytest.raises(exception.RpcVersionTooOld, match=r"1\.1"):
        ask(LibraryAPI(bus, version_cap=Pinned("1.0")))
    assert bus.sent == []


@pytest.mark.usefixtures("older")
def test_an_older_server_refuses_what_a_client_without_a_cap_sends(bus: Recorded) -> None:
    """It says that it does not know the version, and does nothing."""
    with pytest.raises(exception.RpcFailed, match="UnsupportedVersion"):
        LibraryAPI(bus, timeout_seconds=10).give_back(CONTEXT, "Emma")


@pytest.mark.usefixtures("current")
def test_an_older_client_is_answered(bus: Recorded) -> None:
    """A server knows all minor versions before its own."""
    assert OlderAPI(bus, timeout_seconds=10).lend(CONTEXT, "Emma")["reader"] is None


@pytest.mark.usefixtures("current")
def test_peers_of_one_age_use_everything(bus: Recorded) -> None:
    """With the version that the arguments need."""
    api = LibraryAPI(bus, version_cap=Pinned("1.1"), timeout_seconds=10)
    assert api.lend(CONTEXT, "Emma", reader="Jane")["reader"] == "Jane"
    api.give_back(CONTEXT, "Emma")
    assert [version for version, _method, _arguments in bus.sent] == ["1.1", "1.1"]


# Dataclasses among peers of another age -----------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class OlderBook:
    """A book, as the release before declares it."""

    title: str
    pages: int


@dataclasses.dataclass(frozen=True, slots=True)
class Book:
    """A book of a newer release, with one more field."""

    title: str
    pages: int
    author: str = "unknown"


class OlderShopAPI(Interface):
    """A shop, as the release before declares it."""

    TOPIC = "shop"
    SERVED_BY = "placement"

    @call(CONDUCTOR)
    def sell(self, context: RequestContext, book: OlderBook) -> list[OlderBook]:
        """Sell a book, return those that are left."""


class ShopAPI(Interface):
    """The same interface in a newer release."""

    TOPIC = "shop"
    SERVED_BY = "placement"

    @call(CONDUCTOR)
    def sell(self, context: RequestContext, book: Book) -> list[Book]:
        """Sell a book, return those that are left."""


class OtherShopAPI(Interface):
    """Something else under the same name, which no release may do."""

    TOPIC = "shop"
    SERVED_BY = "placement"

    @call(CONDUCTOR)
    def sell(self, context: RequestContext, book: Any) -> list[str]:
        """Sell a book."""


class Shop:
    """Notes what it was asked for, and answers with the same."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def sell(self, context: RequestContext, book: Any) -> list[Any]:
        self.asked.append(book)
        return [book]


@pytest.mark.parametrize(
    ("client", "server", "book", "arrived", "answer"),
    [
        (ShopAPI, ShopAPI, Book("Emma", 9, "Jane"), Book("Emma", 9, "Jane"),
         Book("Emma", 9, "Jane")),
        (ShopAPI, OlderShopAPI, Book("Emma", 9, "Jane"), OlderBook("Emma", 9),
         Book("Emma", 9, "unknown")),
        (OlderShopAPI, ShopAPI, OlderBook("Emma", 9), Book("Emma", 9, "unknown"),
         OlderBook("Emma", 9)),
    ],
    ids=["same-age", "older-server", "older-client"],
)  # fmt: skip
def test_a_dataclass_with_one_more_field_is_understood(
    bus: Recorded, client: Any, server: Any, book: Any, arrived: Any, answer: Any
) -> None:
    """The older peer ignores it, the newer one uses its default."""
    shop = Shop()
    for _running in serve(bus, server, shop):
        assert client(bus, timeout_seconds=10).sell(CONTEXT, book) == [answer]
    assert shop.asked == [arrived]


def test_a_wrong_argument_is_refused_before_the_endpoint_runs(bus: Recorded) -> None:
    """The caller learns what was wrong with it."""
    shop = Shop()
    for _running in serve(bus, ShopAPI, shop):
        with pytest.raises(exception.Invalid, match="str instead of dict"):
            OtherShopAPI(bus, timeout_seconds=10).sell(CONTEXT, "Emma")
    assert shop.asked == []


def test_a_wrong_answer_is_an_error_of_the_server(bus: Recorded) -> None:
    """Whether it did its work is unknown."""

    class OtherShop:
        def sell(self, context: RequestContext, book: Any) -> list[str]:
            return ["Emma"]

    for _running in serve(bus, OtherShopAPI, OtherShop()):
        with pytest.raises(exception.RpcFailed, match=r"wrong answer: .*str instead of dict"):
            ShopAPI(bus, timeout_seconds=10).sell(CONTEXT, Book("Emma", 9))


def test_a_local_twin_hands_dataclasses_over() -> None:
    """Nothing is encoded within one process."""
    book = Book("Emma", 9)
    assert local(ShopAPI, Shop()).sell(CONTEXT, book)[0] is book


# Calls --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [{}, {"title": "a", "color": 1}], ids=["too-few", "unknown"])
def test_wrong_arguments_are_an_error_of_the_caller(bus: Recorded, wrong: dict[str, Any]) -> None:
    """As with any function, before anything is sent."""
    with pytest.raises(TypeError):
        LibraryAPI(bus).lend(CONTEXT, **wrong)
    assert bus.sent == []


@pytest.mark.parametrize(
    ("own", "given", "waits"), [(60, None, 5.0), (2, None, 2), (60, 30.0, 30.0)],
    ids=["declared", "shorter-client", "given"],
)  # fmt: skip
def test_a_call_waits_as_declared(
    bus: Recorded, monkeypatch: pytest.MonkeyPatch, own: float, given: float | None, waits: float
) -> None:
    """At most as long as its client, unless the caller says how long."""
    waited: list[float] = []

    def note(self: Any, *_sent: Any, **_named: Any) -> dict[str, Any]:
        waited.append(self._options["timeout"])
        return {}

    monkeypatch.setattr(_Recorded, "call", note)
    LibraryAPI(bus, timeout_seconds=own).lend(CONTEXT, "Emma", timeout_seconds=given)
    assert waited == [waits]


# Servers and local twins --------------------------------------------------------------------------


class Shelf:
    """A second endpoint with a method of the first."""

    def lend(self, context: RequestContext, title: str, days: int) -> None:
        """Clash."""


class Renamed(Older):
    """Takes an argument under another name."""

    def announce(self, context: RequestContext, books: Sequence[str]) -> None:
        """Never called."""


@pytest.mark.parametrize(
    ("endpoints", "why"),
    [
        ([Shelf()], "OlderAPI.announce must be implemented once; found: 0"),
        ([Older(), Shelf()], "OlderAPI.lend must be implemented once; found: 2"),
        ([Renamed()], "declared with .titles. and implemented with .books."),
    ],
    ids=["missing", "twice", "other-parameters"],
)
def test_a_server_implements_each_method_once_as_declared(
    bus: Recorded, endpoints: list[Any], why: str
) -> None:
    """Else it is not made, and neither is a local twin."""
    with pytest.raises(TypeError, match=why):
        bus.server(OlderAPI, "one", endpoints)
    with pytest.raises(TypeError, match=why):
        local(OlderAPI, *endpoints)


def test_endpoints_are_found_by_the_names_of_the_methods() -> None:
    """Each method may be of another endpoint."""

    class Announcer:
        def announce(self, context: RequestContext, titles: Sequence[str]) -> None:
            """Announce."""

    lender, announcer = Shelf(), Announcer()
    handlers = handlers_of(OlderAPI, [lender, announcer])
    assert handlers == {"lend": lender.lend, "announce": announcer.announce}


def test_a_local_twin_does_what_a_client_does() -> None:
    """With the defaults of the declaration, the same checks and the same errors."""
    endpoint = Library()
    api = local(LibraryAPI, endpoint)
    assert api.lend(CONTEXT, "Emma", timeout_seconds=1) == {
        "title": "Emma", "days": 14, "reader": None
    }  # fmt: skip
    api.announce(CONTEXT, ["Emma"])
    assert endpoint.announced == [["Emma"]]
    with pytest.raises(exception.Conflict, match="it is lost"):
        api.lend(CONTEXT, "lost")
    with pytest.raises(TypeError):
        api.lend(CONTEXT)  # type: ignore[call-arg]
    api.ping(CONTEXT)


# Declarations -------------------------------------------------------------------------------------


def test_a_declaration_says_what_it_says() -> None:
    """As the reference page shows it."""
    method = LibraryAPI.METHODS["lend"]
    assert (method.kind, method.callers, method.since) == (Kind.CALL, (CONDUCTOR,), "1.0")
    assert method.contract == "Lend a book, to a reader."
    assert method.sent_names(LibraryAPI.ADDRESSED_BY) == ["title", "days", "reader"]
    assert inspect.signature(LibraryAPI.lend) == method.signature


def _without_context(self: Any, title: str) -> None:
    """Lack a context."""


def _plain(self: Any, context: RequestContext, title: str) -> None:
    """Take a title."""


@pytest.mark.parametrize(
    ("method", "more", "why"),
    [
        (call(CONDUCTOR)(_without_context), {}, "must take self and context first"),
        (call(AGENT_ITSELF)(_plain), {}, "has no parameter agent"),
        (cast(CONDUCTOR)(_plain), {"ADDRESSED_BY": "shelf"}, "has no parameter shelf"),
        (call(CONDUCTOR, since="1.1")(_plain), {}, "newer than version 1.0"),
        (call(newer_arguments={"title": "1.0"})(_plain), {}, "must have a default"),
    ],
    ids=["no-context", "no-scope", "no-address", "too-new", "required-newer-argument"],
)
def test_a_contradiction_is_found_when_the_module_is_loaded(
    method: Any, more: dict[str, str], why: str
) -> None:
    """No process starts with it."""
    with pytest.raises(TypeError, match=why):
        type("BadAPI", (Interface,), {"TOPIC": "t", "SERVED_BY": "api", "bad": method, **more})
