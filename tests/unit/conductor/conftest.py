"""Fixtures of the conductor's tests: a placement of a test's own."""

from tests.fixtures.placement import placement_template, placement_url

__all__ = ["placement_template", "placement_url"]
