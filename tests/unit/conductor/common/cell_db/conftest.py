"""A cell's database on each of the three engines, made once and emptied for each test."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import objects
from armillary.db import Database
from conductor.common.cell_db import models
from tests.fixtures.cell import SCHEMA
from tests.fixtures.services import MARIADB, POSTGRESQL
from tests.fixtures.services.databases import ON_ALL_THREE, fresh_database

SERVERS = {"postgresql": POSTGRESQL, "mariadb": MARIADB}


@pytest.fixture(scope="session", params=ON_ALL_THREE)
def synced(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    """Return one with tables; a test that asks for it runs once on each engine."""
    objects.register_all()
    with ExitStack() as stack:
        if request.param == "sqlite":
            url = f"sqlite:///{tmp_path_factory.mktemp('cell')}/cell.sqlite"
        else:
            url = stack.enter_context(fresh_database(SERVERS[request.param]))
        made = Database(url, name="cell")
        made.sync(SCHEMA)
        yield made
        made.dispose()


@pytest.fixture
def database(synced: Database) -> Database:
    """Return it empty, as ``sync`` left it."""
    with synced.writer() as session:
        for table in reversed(models.Base.metadata.sorted_tables):
            session.execute(table.delete())
        session.add(models.HostStateSeq(id=1, value=0, removals_from=0))
    return synced
