"""Fixtures of the shared ground's tests: programs in processes of their own, logging undone."""

import logging
from collections.abc import Iterator

import pytest

from tests.fixtures.programs.python_programs import fork_program, fork_servers, start_program

__all__ = ["fork_program", "fork_servers", "keep_logging", "start_program"]


@pytest.fixture
def keep_logging() -> Iterator[None]:
    """Undo what oslo.log does to the root logger."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
        handler.close()
    for handler in set(handlers) - set(root.handlers):
        root.addHandler(handler)
    root.setLevel(level)
