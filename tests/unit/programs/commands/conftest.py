"""Fixtures of the commands' tests: a super conductor that builds, and executes requests later."""

from __future__ import annotations

import pytest

from armillary.backoff import Backoff
from programs.commands import wait
from tests.fixtures.operated_servers import OperatedServers
from tests.unit.programs.conftest import BuildingSuperConductor


class WorkingSuperConductor(BuildingSuperConductor, OperatedServers):
    """Builds what it accepts, and brings about what is asked of servers after that."""


@pytest.fixture
def conductor() -> WorkingSuperConductor:
    """Return the super conductor that the API asks."""
    return WorkingSuperConductor()


@pytest.fixture
def poll_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands that wait poll again at once."""
    monkeypatch.setattr(wait, "BACKOFF", Backoff(0.001, 2.0, factor=1.3))
