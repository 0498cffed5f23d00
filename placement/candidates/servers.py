"""Who can serve each demand alone: one column of yes and no for each need."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from placement.candidates import conditions
from placement.candidates.funnel import Funnel
from placement.candidates.problem import Problem
from placement.columns import Mask
from placement.provider_table import ProviderTable
from placement.query import Group, Query


@dataclass
class Servers:
    """For each need, and for each choice of traits that providers have together, who has it.

    ``roots`` are the trees that may be searched, ``has_trait`` is within the providers of the group
    without suffix.
    """

    roots: Mask
    can_serve: list[Mask] = field(default_factory=list)
    has_trait: list[Mask] = field(default_factory=list)

    @property
    def anybody(self) -> Mask:
        """Tell for each row whether it can serve something."""
        found: Mask = np.logical_or.reduce(self.can_serve)
        return found


def find_servers(table: ProviderTable, query: Query, problem: Problem, funnel: Funnel) -> Servers:
    """Go through all conditions, and count in the funnel the trees that lack a server."""
    servers = Servers(roots=table.is_there & (table.root_rows == np.arange(table.size)))
    for condition in conditions.of_root(table, query.root_required, query.root_forbidden):
        funnel.keep_trees(condition.kind, condition.name, condition.passes)
        servers.roots &= condition.passes
    masks: dict[int, Mask] = {}
    for demand in problem.demands:
        group = problem.groups[demand.need]
        if demand.need in masks:
            continue
        if group.suffix or not problem.is_split:
            masks[demand.need] = _of_single(table, group, funnel)
        else:
            masks |= _of_split(table, group, problem, funnel, servers)
    servers.can_serve = [masks[need] for need in range(len(problem.groups))]
    return servers


def _of_single(table: ProviderTable, group: Group, funnel: Funnel) -> Mask:
    mask = table.is_live if group.resources else table.is_there
    for condition in conditions.of_single_provider(table, group):
        mask = funnel.keep(mask, condition)
    return mask


def _of_split(
    table: ProviderTable, group: Group, problem: Problem, funnel: Funnel, servers: Servers
) -> dict[int, Mask]:
    """Return the servers of each class of a group that several providers may serve together."""
    mask = table.is_live
    for condition in conditions.of_places(table, group):
        mask = funnel.keep(mask, condition)
    for condition in conditions.of_required_traits(table, group):
        servers.has_trait.append(funnel.keep(mask, condition))
    for condition in conditions.of_forbidden_traits(table, group):
        mask = funnel.keep(mask, condition)
    masks: dict[int, Mask] = {}
    for demand in problem.demands:
        if problem.groups[demand.need] is group:
            masks[demand.need] = mask
            for name, amount in demand.resources.items():
                for condition in conditions.of_resource(table, name, amount):
                    masks[demand.need] = funnel.keep(masks[demand.need], condition)
    anybody = np.logical_or.reduce([*masks.values()])
    servers.has_trait = [has_trait & anybody for has_trait in servers.has_trait]
    return masks
