"""Traits by which operators let a provider serve more than its own host; no host has them itself.

A sharing provider serves all hosts of its aggregates, and a pool serves claims. Both stay in the
aggregates that operators put them into. A host that named such a trait would offer its resources
in the name of other hosts.
"""

from collections.abc import Iterable

import os_traits

from objects.claims.resource_kinds import POOL_TRAITS

SHARING_TRAIT: str = os_traits.MISC_SHARES_VIA_AGGREGATE


def is_of_operators(trait: str) -> bool:
    """Return whether operators alone set a trait, in placement."""
    return trait == SHARING_TRAIT or trait.startswith(POOL_TRAITS)


def first_of_operators(traits: Iterable[str]) -> str | None:
    """Return one of these traits that operators alone set, or None."""
    return next(filter(is_of_operators, traits), None)
