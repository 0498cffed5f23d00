"""Objects that a service has when it begins to serve are left out of collections."""

import gc
from collections.abc import Iterator

import pytest

from armillary.service import managed

pytestmark = pytest.mark.sampled_tests(every=2)

PYTHONS_OWN = (700, 10, 10)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Begin untuned, and leave the collector tuned: it is so for all tests, by our conftest."""
    gc.unfreeze()
    gc.set_threshold(*PYTHONS_OWN)
    yield
    managed.tune_garbage_collector()


def test_what_is_there_is_looked_at_no_more() -> None:
    """All of it; what comes later is, less often."""
    managed.tune_garbage_collector()
    assert gc.get_freeze_count() > 1000
    assert len(gc.get_objects()) < gc.get_freeze_count()
    assert gc.get_threshold()[0] == managed.YOUNG_MAX


def test_later_cycles_are_still_found() -> None:
    """An unreferenced cycle goes with the next collection."""
    managed.tune_garbage_collector()
    cycle: list[object] = []
    cycle.append(cycle)
    del cycle
    assert gc.collect() >= 1
