"""The law of placement on the databases of a real deployment."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from sqlalchemy import delete, update

from armillary.db import Database
from placement.db import models
from placement.engine import PlacementEngine
from tests.fixtures.placement import SCHEMA, engines
from tests.fixtures.placement.placement_law import LAW_PHASES, PlacementLaw
from tests.fixtures.plugins.sampling import TAKES_ALL

pytestmark = pytest.mark.sampled_file(every=3)

EXAMPLES = 8 if TAKES_ALL else 4


@pytest.fixture
def database(any_database_url: str) -> Iterator[Database]:
    made = Database(any_database_url, name="placement")
    made.sync(SCHEMA)
    yield made
    made.dispose()


def wipe(database: Database) -> None:
    """Empty all tables but the epoch, which only ever rises."""
    providers = models.ResourceProvider.table()
    with database.writer() as session:
        session.execute(update(providers).values(parent_provider_id=None))  # for MariaDB
        for table in reversed(models.Base.metadata.sorted_tables):
            if table is not models.PlacementEpoch.table():
                session.execute(delete(table))


def test_every_engine_answers_the_truth_after_any_writes(
    database: Database, any_database_url: str
) -> None:
    """Two processes write what they like: both answer as if they had just read everything."""
    with engines(any_database_url) as make:

        class Law(PlacementLaw):
            def make_engines(self) -> tuple[PlacementEngine, PlacementEngine]:
                wipe(database)
                return make(), make()

        run_state_machine_as_test(
            Law,
            settings=settings(
                max_examples=EXAMPLES,
                stateful_step_count=25,
                deadline=None,
                phases=LAW_PHASES,
                suppress_health_check=[HealthCheck.too_slow],
            ),
        )
