"""Fixtures of the drivers' tests."""

from __future__ import annotations

from tests.fixtures.agent.processes import processes
from tests.fixtures.agent.simulated import simulated

__all__ = ["processes", "simulated"]
