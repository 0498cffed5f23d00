"""A cell whose conductors are older: asked as they understand, while the level is ``auto``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import rpc
from armillary import exception
from armillary.context import admin_context
from armillary.db import Database
from armillary.service_history import CURRENT_VERSION
from conductor.super_conductor.db import cells as cells_db
from conductor.super_conductor.hosts import cells as cells_module
from conductor.super_conductor.hosts.cells import Cells
from tests.fixtures.control_plane import NOW, control_plane_conf
from tests.fixtures.direct_bus import Breaker, DirectBus


class Conductor:
    """Says how old the oldest of the cell is, or that it does not know the question."""

    def __init__(self) -> None:
        self.answer: Any = {"cell_conductor": CURRENT_VERSION}

    @rpc.expose
    @rpc.expected_exceptions(exception.ArmillaryError)
    def get_oldest_services(self, context: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def conductor() -> Conductor:
    return Conductor()


@pytest.fixture
def cells(api_database: Database, conductor: Conductor) -> Iterator[Cells]:
    bus = DirectBus(Breaker())
    bus.serve("cell_conductor", conductor)
    with api_database.writer() as session:
        cells_db.create_cell(session, name="cell1", transport_url="kombu+memory:////1", now=NOW)
    made = Cells(control_plane_conf(), api_database, lambda _url: bus)
    made._conf.set_override("cell_conductor", "auto", group="upgrade_levels")
    yield made
    made.close()


def may_send(cells: Cells, version: str) -> bool:
    (cell,) = cells.list_cells()
    return cells.call(cell.uuid, lambda api: api.can_send(version))


def test_a_cell_of_today_is_sent_the_newest(cells: Cells) -> None:
    """As its conductors' records say."""
    assert may_send(cells, "1.3")


@pytest.mark.parametrize(
    ("answer", "may"),
    [
        ({"cell_conductor": 2}, "1.1"),
        (exception.RpcFailed(method="m", topic="t", reason="UnsupportedVersion: 1.3"), "1.1"),
    ],
    ids=["a-record", "it-does-not-know-the-question"],
)
def test_an_older_cell_is_sent_what_it_knows(
    cells: Cells, conductor: Conductor, answer: Any, may: str
) -> None:
    """And what it does not know is refused before it is sent."""
    conductor.answer = answer
    assert may_send(cells, may)
    assert not may_send(cells, "1.2")
    (cell,) = cells.list_cells()
    with pytest.raises(exception.RpcVersionTooOld):
        cells.call(cell.uuid, lambda api: api.list_hosts_before(admin_context(), 3))


def test_it_is_asked_again_after_a_while(
    cells: Cells, conductor: Conductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell that was upgraded is sent the newest without a restart."""
    conductor.answer = {"cell_conductor": 2}
    assert not may_send(cells, "1.2")
    conductor.answer = {"cell_conductor": CURRENT_VERSION}
    assert not may_send(cells, "1.2")
    monkeypatch.setattr(cells_module, "_VERSIONS_KEPT_SECONDS", 0.0)
    assert may_send(cells, "1.3")
