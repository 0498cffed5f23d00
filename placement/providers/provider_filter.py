"""Filtering of provider lists, by array operations on the provider table. Pure."""

from collections.abc import Iterable

import numpy as np

from placement.ledger.feasibility import fits
from placement.providers.columns import Mask
from placement.providers.inventory import AMOUNT_MAX
from placement.providers.provider_record import ProviderFilters
from placement.providers.provider_table import ProviderTable


def is_about_facts(filters: ProviderFilters) -> bool:
    """Return whether the table is needed: filters by name, UUID and tree use the database only."""
    return bool(
        filters.resources
        or filters.required_traits
        or filters.forbidden_traits
        or filters.member_of
        or filters.forbidden_aggregates
    )


def ids_that_match(table: ProviderTable, filters: ProviderFilters) -> list[int]:
    """Return the ids of the providers with these free resources, traits and aggregates."""
    remaining: Mask = table.is_there.copy()
    for name, amount in filters.resources.items():
        if amount > AMOUNT_MAX:  # exceeds the range of a column, and any capacity
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
