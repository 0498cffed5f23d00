"""Fixtures of the drivers' tests."""

from tests.fixtures.agent.processes import processes
from tests.fixtures.agent.simulated import simulated

__all__ = ["processes", "simulated"]
