"""Capabilities of all providers together: placement's part of a zone summary."""

from collections.abc import Iterable

import numpy as np

from objects.zones.zone_summary import ProviderCapabilities
from placement.ledger import feasibility
from placement.providers.columns import Mask
from placement.providers.provider_table import ProviderTable


def summarize(
    table: ProviderTable, *, excluded: Iterable[str] = (), without_traits: Iterable[str] = ()
) -> ProviderCapabilities:
    """Return the capabilities; step sizes and minimum amounts may rule out more.

    Excluded are the trees of ``excluded`` providers (UUIDs) and those whose root has one of
    ``without_traits``.
    """
    counted = _counted(table, excluded, without_traits)
    resources = {}
    for name in sorted(table.resource_classes()):
        free = feasibility.free(table.columns_of(name))[counted]
        if free.size and (most := int(free.max())) > 0:
            resources[name] = most
    traits = [name for name in sorted(table.trait_names()) if table.has_trait(name)[counted].any()]
    return ProviderCapabilities(resources, traits, int(counted.sum()))


def _counted(table: ProviderTable, excluded: Iterable[str], without: Iterable[str]) -> Mask:
    is_out = np.zeros(table.size, np.bool_)
    for uuid in excluded:
        if (row := table.row_of(uuid)) is not None:
            is_out[row] = True
    for trait in without:
        is_out |= table.has_trait(trait)
    there = table.is_there
    counted: Mask = there & ~is_out[np.where(there, table.root_rows, 0)] if table.size else there
    return counted
