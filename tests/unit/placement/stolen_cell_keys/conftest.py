"""Fixtures of the attacks with a stolen key."""

from tests.unit.placement.stolen_cell_keys.attacked_placement import (
    consumer,
    own,
    provider,
    signed,
    unharmed,
)

__all__ = ["consumer", "own", "provider", "signed", "unharmed"]
