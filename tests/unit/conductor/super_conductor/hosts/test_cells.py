"""Tests of asking cells: time limits, dead brokers that hold up no other cell, changed mappings."""

import threading
from collections.abc import Iterator

import pytest

from armillary import exception
from armillary.context import admin_context
from armillary.db import Database
from conductor.cell_conductor.interface import CellConductorAPI
from conductor.super_conductor.db import cells as cells_db
from conductor.super_conductor.hosts import cells as cells_module
from conductor.super_conductor.hosts.cells import Cells, _Link
from objects.cell_mapping import CellMapping
from tests.fixtures import waiting
from tests.fixtures.control_plane import NOW, control_plane_conf
from tests.fixtures.messages.direct_bus import Breaker, DirectBus

SECONDS_MAX = 60.0
"""For a cell that answers immediately, on a machine with other things to do."""


class Made:
    """Buses by their URL; closing is noted."""

    def __init__(self) -> None:
        self.urls: list[str] = []
        self.closed: list[str] = []

    def __call__(self, url: str, _scope: str) -> DirectBus:
        self.urls.append(url)
        bus = DirectBus(Breaker())
        bus.close = lambda: self.closed.append(url)  # type: ignore[method-assign]
        return bus


@pytest.fixture
def made() -> Made:
    return Made()


@pytest.fixture
def cells(api_database: Database, made: Made) -> Iterator[Cells]:
    conf = control_plane_conf()
    conf.set_override("cell_workers", 2, group="conductor")
    cells = Cells(conf, api_database, made)
    yield cells
    cells.close()


@pytest.fixture
def two(api_database: Database) -> list[str]:
    """Return the UUIDs of two cells."""
    with api_database.writer() as session:
        return [
            cells_db.create_cell(
                session, name=name, transport_url=f"kombu+memory:////{name}", now=NOW
            ).uuid
            for name in ("cell1", "cell2")
        ]


def stuck(release: threading.Event) -> None:
    """Do as a call does whose broker is out of reach: a test that waits for it does not end."""
    release.wait()


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Return what ends all that is stuck, at the end of the test at the latest."""
    event = threading.Event()
    yield event
    event.set()


def wait_shortly(cells: Cells, seconds: float = 0.2) -> None:
    """Have no answer waited for longer than this."""
    cells._conf.set_override("cell_timeout_seconds", seconds, group="conductor")


def test_an_answer_is_returned(cells: Cells, two: list[str]) -> None:
    """The question is asked with the cell's client."""
    assert cells.call(two[0], lambda cell: type(cell)) is CellConductorAPI


def test_what_a_cell_raises_is_raised(cells: Cells, two: list[str]) -> None:
    """An error of ours is an answer."""

    def refuse(_cell: CellConductorAPI) -> None:
        raise exception.InstanceNotFound(instance_uuid="u")

    with pytest.raises(exception.InstanceNotFound):
        cells.call(two[0], refuse)


def test_an_unknown_cell_is_not_found(cells: Cells, two: list[str]) -> None:
    """There is no cell to ask."""
    with pytest.raises(exception.CellNotFound):
        cells.call("c0000000-0000-0000-0000-000000000000", lambda _: None)


def test_a_silent_cell_is_unavailable(cells: Cells, two: list[str]) -> None:
    """A call without an answer is not waited for longer than the limit."""
    context = admin_context()
    with pytest.raises(exception.CellUnavailable, match="cell1"):
        cells.call(two[0], lambda cell: cell.get_instance(context, "u"))


def test_a_hanging_cell_is_left_after_the_limit(
    cells: Cells, two: list[str], release: threading.Event
) -> None:
    """Its broker may be out of reach: the call does not come back."""
    wait_shortly(cells)
    with pytest.raises(exception.CellUnavailable):
        cells.call(two[0], lambda _: stuck(release))


def test_a_hanging_cell_holds_up_no_other(
    cells: Cells, two: list[str], release: threading.Event
) -> None:
    """It has workers of its own; with all of them stuck, the other cell answers."""
    for _ in range(6):
        cells.ask(two[0], lambda _: stuck(release))
    assert cells.call(two[1], lambda _: "here") == "here"
    wait_shortly(cells, waiting.seconds(1.0))
    answers = cells.ask_all(lambda _: "here")
    assert answers.by_cell == {two[1]: "here"}
    assert answers.down_cells == ["cell1"]


def test_a_cell_that_was_silent_holds_up_lists_only_shortly(
    cells: Cells, two: list[str], release: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it speaks again, late or not; then it is waited for as ever."""
    monkeypatch.setattr(cells_module, "SILENT_TIMEOUT_SECONDS", 0.01)
    wait_shortly(cells, 600.0)  # longer than the test may take: it ends by the short patience only
    is_back = threading.Event()

    def ask(cell: CellConductorAPI) -> str:
        stuck(release)
        is_back.set()
        return "here"

    late = cells.ask(two[0], ask)
    with pytest.raises(exception.CellUnavailable):
        late.wait(0.01)
    assert cells.ask_all(lambda _: stuck(release), among=cells.list_cells()[:1]).down_cells == [
        "cell1"
    ]
    release.set()
    assert is_back.wait(SECONDS_MAX)
    late.wait(SECONDS_MAX)
    slow = cells.ask_all(
        lambda _: threading.Event().wait(10 * cells_module.SILENT_TIMEOUT_SECONDS),
        among=cells.list_cells()[:1],
    )
    assert slow.down_cells == []


def test_a_cell_that_was_silent_is_read_from_only_shortly(
    cells: Cells, two: list[str], release: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first question waits as ever, the next ones do not."""
    monkeypatch.setattr(cells_module, "SILENT_TIMEOUT_SECONDS", 0.01)
    late = cells.ask(two[0], lambda _: stuck(release))
    with pytest.raises(exception.CellUnavailable):
        late.wait(0.01)
    wait_shortly(cells, 600.0)  # longer than the test may take
    with pytest.raises(exception.CellUnavailable):
        cells.call_briefly(two[0], lambda _: stuck(release))
    with pytest.raises(exception.CellUnavailable, match="no answer to the last request"):
        cells.check_answering(two[0])
    release.set()
    late.wait(SECONDS_MAX)
    assert cells.call_briefly(two[1], lambda _: "here") == "here"


def test_a_cell_that_waits_in_vain_for_another_service_is_not_silent(
    cells: Cells, two: list[str]
) -> None:
    """The error names that service; lists wait for the cell as ever."""

    def ask(cell: CellConductorAPI) -> None:
        raise exception.RpcTimeout(method="m", topic="placement", timeout_seconds=4.5)

    with pytest.raises(exception.CellUnavailable, match=r"cell1 .* m on placement") as caught:
        cells.call(two[0], ask)
    assert caught.value.kwargs["topic"] == "placement"
    cells.check_answering(two[0])


def test_too_many_waiting_calls_are_refused_immediately(
    cells: Cells, two: list[str], release: threading.Event
) -> None:
    """A cell that hangs does not fill the memory."""

    def ask_often() -> None:
        for _ in range(200):
            cells.ask(two[0], lambda _: stuck(release))

    with pytest.raises(exception.CellUnavailable, match="too many"):
        ask_often()
    assert cells.ask_all(lambda _: 1).down_cells == ["cell1"]


def test_a_cell_that_fails_is_named(
    cells: Cells, two: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever it raised; the log says what."""

    def fail(cell: CellConductorAPI) -> None:
        raise RuntimeError("no such table")

    assert cells.ask_all(fail).down_cells == ["cell1", "cell2"]
    assert "no such table" in caplog.text


def test_buses_are_made_once_and_lazily(cells: Cells, two: list[str], made: Made) -> None:
    """No cell is connected to before the first call to it."""
    assert made.urls == []
    cells.call(two[0], lambda _: None)
    cells.call(two[0], lambda _: None)
    assert made.urls == ["kombu+memory:////cell1"]


def test_a_cell_that_moved_is_asked_at_its_new_broker(
    cells: Cells, two: list[str], made: Made, api_database: Database
) -> None:
    """The old bus is closed."""
    cells.call(two[0], lambda _: None)
    with api_database.writer() as session:
        changes = {"transport_url": "kombu+memory:////moved"}
        cells_db.update_cell(session, "cell1", changes, now=NOW)
    cells.call(two[0], lambda _: None)
    assert made.urls[-1] == "kombu+memory:////moved"
    assert made.closed == ["kombu+memory:////cell1"]


def test_the_bus_of_a_deleted_cell_is_closed(
    cells: Cells, two: list[str], made: Made, api_database: Database
) -> None:
    """As soon as the cells are listed."""
    cells.ask_all(lambda _: None)
    with api_database.writer() as session:
        cells_db.delete_cell(session, "cell2")
    assert [cell.name for cell in cells.list_cells()] == ["cell1"]
    assert made.closed == ["kombu+memory:////cell2"]


def test_a_cell_that_cannot_be_reached_by_its_url_hurts_no_other(
    api_database: Database, cells: Cells, made: Made, two: list[str]
) -> None:
    """It is named as one that does not answer, like a dead one."""
    make_link = cells._links._make

    def make(cell: CellMapping) -> _Link:
        if cell.name == "bad":
            raise exception.ConfigurationError(reason="transport_url is malformed")
        return make_link(cell)

    cells._links._make = make
    with api_database.writer() as session:
        bad = cells_db.create_cell(session, name="bad", transport_url="not a url", now=NOW).uuid
    answers = cells.ask_all(lambda cell: "here")
    assert (sorted(answers.by_cell), answers.down_cells) == (sorted(two), ["bad"])
    with pytest.raises(exception.CellUnavailable, match="malformed"):
        cells.call(bad, lambda cell: "here")
