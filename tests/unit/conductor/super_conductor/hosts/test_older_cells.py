"""A cell whose conductors are older: asked as they understand, while the level is ``auto``."""

from collections.abc import Iterator
from typing import Any

import pytest

from armillary.db import Database
from conductor.super_conductor.db import cells as cells_db
from conductor.super_conductor.hosts import cells as cells_module
from conductor.super_conductor.hosts.cells import Cells
from tests.fixtures.control_plane import NOW, control_plane_conf
from tests.fixtures.made_up_releases import NEW, OLD
from tests.fixtures.messages.direct_bus import Breaker, DirectBus

pytestmark = pytest.mark.usefixtures("two_releases")


class Conductor:
    """Says how old the oldest of the cell is."""

    def __init__(self) -> None:
        self.oldest = NEW

    def get_oldest_services(self, context: Any) -> Any:
        return {"cell_conductor": self.oldest}


@pytest.fixture
def conductor() -> Conductor:
    return Conductor()


@pytest.fixture
def cells(api_database: Database, conductor: Conductor) -> Iterator[Cells]:
    bus = DirectBus(Breaker())
    bus.serve("cell_conductor", conductor)
    with api_database.writer() as session:
        cells_db.create_cell(session, name="cell1", transport_url="kombu+memory:////1", now=NOW)
    made = Cells(control_plane_conf(), api_database, lambda _url, _scope: bus)
    made._conf.set_override("cell_conductor", "auto", group="upgrade_levels")
    yield made
    made.close()


def cap(cells: Cells) -> str | None:
    """Return what the cell may be sent at the next call."""
    (cell,) = cells.list_cells()
    cells.call(cell.uuid, lambda _api: None)
    return cells._links.to(cell)._versions.cap.of(None)


def test_a_cell_of_today_is_sent_the_newest(cells: Cells) -> None:
    """As its conductors' records say."""
    assert cap(cells) == "1.1"


def test_an_older_cell_is_sent_what_it_knows(cells: Cells, conductor: Conductor) -> None:
    """The oldest of its conductors may get any message."""
    conductor.oldest = OLD
    assert cap(cells) == "1.0"


def test_it_is_asked_again_after_a_while(
    cells: Cells, conductor: Conductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell that was upgraded is sent the newest without a restart."""
    conductor.oldest = OLD
    assert cap(cells) == "1.0"
    conductor.oldest = NEW
    assert cap(cells) == "1.0"
    monkeypatch.setattr(cells_module, "_VERSIONS_KEPT_SECONDS", 0.0)
    assert cap(cells) == "1.1"
