"""Fixtures of the compute agent's tests: an agent in one thread, and its conductor."""

from tests.fixtures.agent import agent

__all__ = ["agent"]
