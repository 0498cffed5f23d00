"""What the tests of the compute agent share: an agent in one thread, and its conductor."""

from __future__ import annotations

from tests.fixtures.agent import agent

__all__ = ["agent"]
