"""Fixtures of the drivers' tests."""

from __future__ import annotations

from tests.fixtures.processes import processes
from tests.fixtures.simulated import simulated

__all__ = ["processes", "simulated"]
