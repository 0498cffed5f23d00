"""Fixtures of the commands' tests."""

import pytest

from armillary.backoff import Backoff
from programs.commands import wait


@pytest.fixture
def wide_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a terminal of 100 columns."""
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def poll_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands that wait poll again immediately."""
    monkeypatch.setattr(wait, "BACKOFF", Backoff(0.001, 2.0, factor=1.3))
