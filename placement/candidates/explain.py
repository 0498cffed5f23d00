"""Explanation of missing candidates: how many providers each condition rejects, nearest misses."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from armillary.db import Database
from objects.allocations.resource_query import ResourceQuery
from objects.traces import ruled_out
from objects.traces.explanation import (
    CandidatesExplanation,
    GroupExplanation,
    NamedProvider,
    NearestMiss,
)
from placement.candidates import conditions, find_candidates
from placement.candidates import query as queries
from placement.candidates.conditions import Condition
from placement.candidates.funnel import Funnel, Reach
from placement.candidates.query import Group, Query
from placement.candidates.result import Found
from placement.db import provider_tree
from placement.providers.columns import Mask, Numbers
from placement.providers.provider_table import ProviderTable
from placement.providers.table_cache import TableCache

NEAREST_MAX = 3


class Explainer:
    """Explain the results of candidate queries."""

    def __init__(self, database: Database, table_cache: TableCache) -> None:
        self._database = database
        self._table_cache = table_cache

    def explain(self, query: ResourceQuery) -> CandidatesExplanation:
        """Return the explanation; a provider that was deleted meanwhile is omitted."""
        parsed = queries.parse(query)
        with self._table_cache.table() as table:
            found = explain(table, parsed)
            rows = [table.row_of(uuid) for uuid in _nearest_of(found)]
            ids = [int(table.ids[row]) for row in rows if row is not None]
        records = self._database.read(provider_tree.list_records_by_id, ids)
        return _with_names(found, {record.uuid: record.name for record in records})


def _nearest_of(found: CandidatesExplanation) -> set[str]:
    return {miss.provider.uuid for group in found.groups for miss in group.nearest}


def _with_names(found: CandidatesExplanation, names: Mapping[str, str]) -> CandidatesExplanation:
    groups = []
    for group in found.groups:
        known = [miss for miss in group.nearest if miss.provider.uuid in names]
        providers = [replace(miss.provider, name=names[miss.provider.uuid]) for miss in known]
        nearest = [
            replace(miss, provider=provider)
            for miss, provider in zip(known, providers, strict=True)
        ]
        groups.append(replace(group, nearest=nearest))
    return replace(found, groups=groups)


def explain(table: ProviderTable, query: Query) -> CandidatesExplanation:
    """Return the explanation of a query, without the names of providers.

    This takes a few times as long as answering the query.
    """
    found = find_candidates(table, replace(query, limit=1))
    examination = _Examination(table)
    root = conditions.of_root(table, query)
    left = found.providers_total - sum(entry.count for entry in found.ruled_out)
    return CandidatesExplanation(
        sentence=_sentence(found, left),
        has_candidates=found.count > 0,
        providers_total=found.providers_total,
        providers_left=left,
        ruled_out=found.ruled_out,
        root=[each.rejecting(examination.count_without(each.passes)) for each in root],
        groups=[examination.group(group) for group in query.groups],
    )


def _sentence(found: Found, left: int) -> str:
    """Return a sentence about the conditions that reject providers; a tree counts as one."""
    if not found.providers_total:
        return "No provider has an inventory."
    parts = list(ruled_out.parts_of([each.to_plain() for each in found.ruled_out], {}))
    if found.count:
        parts.insert(0, (left, "may serve this", "may serve this"))
    text = ruled_out.joined(parts, found.providers_total, "provider")
    return f"{text[0].upper()}{text[1:]}."


class _Examination:
    """Examine one group after the other.

    A host is a tree of providers, together with the sharing providers it can use.
    """

    def __init__(self, table: ProviderTable) -> None:
        self._table = table
        self._reach = Reach(table)
        self._hosts = Funnel(table, self._reach).remaining

    def count_without(self, passing: Mask) -> int:
        """Return the number of hosts that are not among the passing ones."""
        return int(np.count_nonzero(self._hosts & ~passing))

    def group(self, group: Group) -> GroupExplanation:
        """Return the explanation of a group, independent of the other groups."""
        table, asked = self._table, list(conditions.of_single_provider(self._table, group))
        base = table.is_live if group.resources else table.is_there
        by_host = self._by_host(asked, base)
        parts = [
            each.rejecting(
                self.count_without(hosts), None if each.columns is None else each.offered
            )
            for each, hosts in zip(asked, by_host, strict=True)
        ]
        return GroupExplanation(
            suffix=group.suffix,
            parts=[part for part in parts if part.count or part.rule is None],
            # A group with a suffix is served by one provider, the group without one by a host.
            nearest=self._nearest(asked, [each.passes for each in asked], base, by_host=False)
            if group.suffix
            else self._nearest(asked, by_host, self._hosts, by_host=True),
        )

    def _by_host(self, asked: Sequence[Condition], base: Mask) -> list[Mask]:
        """Return for each condition the hosts of which a provider passes it.

        One provider has to pass all parts of the rule for an amount. Those without the class don't
        count, and a host of which no provider passes all parts fails at one at least.
        """
        found: list[Mask] = []
        whole: dict[str, Mask] = {}  # class -> the providers that pass all parts so far
        parts: dict[str, Mask] = {}  # class -> the hosts of which a provider passes each part
        for each in asked:
            if each.columns is None:
                found.append(self._reach.trees_with(base & each.passes))
                continue
            whole[each.name] = whole.get(each.name, base) & each.passes
            if each.rule is None:  # free capacity, which is last
                fits = self._reach.trees_with(whole[each.name])
                found.append(fits | ~parts[each.name])
                continue
            offers = base & (each.columns.max_unit > 0)
            passing = self._reach.trees_with(offers & each.passes) | ~self._reach.trees_with(offers)
            parts[each.name] = parts.get(each.name, passing) & passing
            found.append(passing)
        return found

    def _nearest(
        self, asked: Sequence[Condition], passes: Sequence[Mask], among: Mask, *, by_host: bool
    ) -> list[NearestMiss]:
        """Return the providers that fail the fewest conditions, and of these lack the least."""
        fails: Numbers = np.zeros(self._table.size, np.int64)
        short = np.zeros(self._table.size, np.float64)
        free: dict[int, Numbers] = {}
        for index, (condition, mask) in enumerate(zip(asked, passes, strict=True)):
            fails += ~mask
            if condition.columns is not None:
                free[index] = self._free(condition, by_host=by_host)
                short += np.where(mask, 0.0, abs(1 - free[index] / condition.asked))
        rows = np.flatnonzero(among & (fails > 0))
        order = np.lexsort((rows, short[rows], fails[rows]))[:NEAREST_MAX]
        return [
            NearestMiss(
                self._provider(row),
                [
                    condition.lack(int(free[index][row]) if index in free else None)
                    for index, condition in enumerate(asked)
                    if not passes[index][row]
                ],
            )
            for row in rows[order].tolist()
        ]

    def _provider(self, row: int) -> NamedProvider:
        root = self._table.root_rows[row]
        return NamedProvider(str(self._table.uuids[row]), "", str(self._table.uuids[root]))

    def _free(self, condition: Condition, *, by_host: bool) -> Numbers:
        """Return what a class offers: per provider, or per host the largest over all its own."""
        own: Numbers = np.maximum(condition.offered, 0)
        return self._reach.best(own) if by_host else own
