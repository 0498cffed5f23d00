"""What the tests of the drivers share."""

from __future__ import annotations

from tests.fixtures.processes import processes
from tests.fixtures.simulated import simulated

__all__ = ["processes", "simulated"]
