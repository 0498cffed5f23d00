"""Eligible providers of each demand: one boolean column per need."""

from dataclasses import dataclass, field

import numpy as np

from placement.candidates import conditions
from placement.candidates.funnel import Funnel
from placement.candidates.problem import Problem
from placement.candidates.query import Group, Query
from placement.providers.columns import Mask
from placement.providers.provider_table import ProviderTable


@dataclass
class Eligible:
    """Eligible providers of each need, and of each choice of jointly required traits.

    ``roots`` are the trees that may be searched; ``has_trait`` covers the providers of the group
    without suffix.
    """

    roots: Mask
    can_serve: list[Mask] = field(default_factory=list)
    has_trait: list[Mask] = field(default_factory=list)

    @property
    def any_need(self) -> Mask:
        """Return for each row whether it is eligible for any need."""
        found: Mask = np.logical_or.reduce(self.can_serve)
        return found


def find_eligible(table: ProviderTable, query: Query, problem: Problem, funnel: Funnel) -> Eligible:
    """Evaluate all conditions, and count in the funnel the trees without an eligible provider."""
    eligible = Eligible(roots=table.is_there & (table.root_rows == np.arange(table.size)))
    for condition in conditions.of_root(table, query):
        funnel.keep_trees(condition.kind, condition.name, condition.passes)
        eligible.roots &= condition.passes
    masks: dict[int, Mask] = {}
    for demand in problem.demands:
        group = problem.groups[demand.need]
        if demand.need in masks:
            continue
        if group.suffix or not problem.is_split:
            masks[demand.need] = _of_single(table, group, funnel)
        else:
            masks |= _of_split(table, group, problem, funnel, eligible)
    eligible.can_serve = [masks[need] for need in range(len(problem.groups))]
    return eligible


def _of_single(table: ProviderTable, group: Group, funnel: Funnel) -> Mask:
    mask = table.is_live if group.resources else table.is_there
    for condition in conditions.of_single_provider(table, group):
        mask = funnel.keep(mask, condition)
    return mask


def _of_split(
    table: ProviderTable, group: Group, problem: Problem, funnel: Funnel, eligible: Eligible
) -> dict[int, Mask]:
    """Return the eligible providers per class of a group that several providers may serve."""
    mask = table.is_live
    for condition in conditions.of_places(table, group):
        mask = funnel.keep(mask, condition)
    for condition in conditions.of_required_traits(table, group):
        eligible.has_trait.append(funnel.keep(mask, condition))
    for condition in conditions.of_forbidden_traits(table, group):
        mask = funnel.keep(mask, condition)
    masks: dict[int, Mask] = {}
    for demand in problem.demands:
        if problem.groups[demand.need] is group:
            masks[demand.need] = mask
            for name, amount in demand.resources.items():
                for condition in conditions.of_resource(table, name, amount):
                    masks[demand.need] = funnel.keep(masks[demand.need], condition)
    any_need = np.logical_or.reduce([*masks.values()])
    eligible.has_trait = [has_trait & any_need for has_trait in eligible.has_trait]
    return masks
