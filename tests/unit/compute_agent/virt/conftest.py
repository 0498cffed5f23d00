"""What the tests of the process driver share."""

from __future__ import annotations

from tests.fixtures.processes import processes

__all__ = ["processes"]
