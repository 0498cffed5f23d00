"""Which providers pass the filters of a list, by array operations on the provider table. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from placement.columns import Mask
from placement.feasibility import fits
from placement.inventory import AMOUNT_MAX
from placement.provider_record import ProviderFilters
from placement.provider_table import ProviderTable


def is_about_facts(filters: ProviderFilters) -> bool:
    """Tell whether the table is needed: names, UUIDs and trees alone are asked of the database."""
    return bool(
        filters.resources
        or filters.required_traits
        or filters.forbidden_traits
        or filters.member_of
        or filters.forbidden_aggregates
    )


def ids_that_match(table: ProviderTable, filters: ProviderFilters) -> list[int]:
    """Return the ids of the providers with these resources free, these traits and aggregates."""
    remaining: Mask = table.is_there.copy()
    for name, amount in filters.resources.items():
        if amount > AMOUNT_MAX:  # more than a column can be compared with, and than anybody has
            return []
        remaining &= fits(table.columns_of(name), amount)
    for traits in filters.required_traits:
        remaining &= _any(map(table.has_trait, traits))
    for trait in filters.forbidden_traits:
        remaining &= ~table.has_trait(trait)
    for aggregates in filters.member_of:
        remaining &= _any(map(table.is_member, aggregates))
    for aggregate in filters.forbidden_aggregates:
        remaining &= ~table.is_member(aggregate)
    found: list[int] = table.ids[remaining].tolist()
    return found


def _any(masks: Iterable[Mask]) -> Mask:
    found: Mask = np.logical_or.reduce(list(masks))
    return found
