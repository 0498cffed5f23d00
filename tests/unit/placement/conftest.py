"""Fixtures of placement's tests."""

from tests.fixtures.placement import (
    engine,
    new_engine,
    placement,
    placement_template,
    placement_url,
    running_placement,
)

__all__ = [
    "engine",
    "new_engine",
    "placement",
    "placement_template",
    "placement_url",
    "running_placement",
]
