"""A writer that is killed in the middle leaves nothing half-written, and the others go on."""

from collections.abc import Iterator

import pytest

from placement.engine import PlacementEngine
from tests.fixtures.placement import SCHEMA, engines
from tests.fixtures.placement.placement_examiner import Examiner
from tests.fixtures.placement.placement_rows import dump, true_consumers
from tests.integration.placement import placement_processes as processes
from tests.integration.placement.placement_processes import (
    CONSUMERS,
    SECONDS_MAX,
    WRITES,
    killed_in_the_end,
    prepare,
    write_and_wait,
    write_on_and_on,
)

pytestmark = pytest.mark.sampled_file(every=3)

FIRST_CHANGE, COMMIT = 1, 1_000_000
KILLS = 4


@pytest.fixture
def engine(any_database_url: str) -> Iterator[PlacementEngine]:
    with engines(any_database_url) as make:
        made = make()
        made._database.sync(SCHEMA)
        prepare(made)
        yield made


def test_what_was_not_committed_was_never_written(
    engine: PlacementEngine, any_database_url: str
) -> None:
    """Killed after the first change, and with all changes made: nothing is there, and no lock."""
    for write in WRITES:
        before = dump(engine._database)
        for changes_max in (FIRST_CHANGE, COMMIT):
            with killed_in_the_end(write_and_wait, any_database_url, write, changes_max) as pipe:
                assert pipe.poll(SECONDS_MAX), write.__name__
                changes = pipe.recv()
                assert changes >= 1, write.__name__
            assert dump(engine._database) == before, write.__name__
        write(engine)
        assert dump(engine._database) != before
        examine(engine)


def test_what_was_committed_stands_whenever_its_writer_is_killed(
    engine: PlacementEngine, any_database_url: str
) -> None:
    """Of the write without an answer, all is there or nothing."""
    for _ in range(KILLS):
        amount = 0
        with killed_in_the_end(write_on_and_on, any_database_url) as pipe:
            while amount < 5:
                assert pipe.poll(SECONDS_MAX)
                amount = pipe.recv()
        while pipe.poll():  # what it said until it was killed
            try:
                amount = pipe.recv()
            except EOFError:
                break
        found = true_consumers(engine._database)
        held = [found[uuid].allocations[processes.OTHER]["DISK_GB"] for uuid in CONSUMERS[:2]]
        assert held in ([amount] * 2, [amount + 1] * 2)
        examine(engine)


def examine(engine: PlacementEngine) -> None:
    examiner = Examiner(engine._database)
    examiner.check_rows()
    examiner.examine(engine)
