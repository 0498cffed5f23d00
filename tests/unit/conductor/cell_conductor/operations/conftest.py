"""Fixtures of the tests of operations: one cell, brought into the state that a test needs."""

from collections.abc import Iterator

import pytest

from tests.fixtures.cell.operated_cell import OperatedCell
from tests.fixtures.cell.operation_stories import Stage


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Return where stories are played."""
    cell = OperatedCell(tmp_path_factory.mktemp("operations"))
    yield Stage(cell)
    cell.close()
