"""Explanations of queries with no or few candidates: plain data with names and a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from armillary.db import Database
from objects.resource_query import ResourceQuery
from objects.traces import ruled_out
from placement.candidates import query as queries
from placement.candidates.explain import Explanation, GroupExplanation, explain
from placement.db import provider_tree
from placement.providers.table_cache import TableCache

Plain = dict[str, Any]


class Explainer:
    """Explain the results of candidate queries."""

    def __init__(self, database: Database, table_cache: TableCache) -> None:
        self._database = database
        self._table_cache = table_cache

    def explain(self, query: ResourceQuery) -> Plain:
        """Return the explanation as ``PlacementAPI.explain_candidates`` documents it."""
        parsed = queries.parse(query)
        with self._table_cache.table() as table:
            found = explain(table, parsed)
            id_of = {row: int(table.ids[row]) for row in found.rows}
        return _to_plain(found, self._named(id_of))

    def _named(self, id_of: Mapping[int, int]) -> dict[int, Plain]:
        """Return row -> description of a provider; a provider deleted meanwhile is omitted."""
        with self._database.reader() as session:
            records = provider_tree.list_records_by_id(session, [*id_of.values()])
        by_id = {
            record.id: {
                "uuid": record.uuid,
                "name": record.name,
                "root_provider_uuid": record.root_provider_uuid,
            }
            for record in records
        }
        return {row: by_id[number] for row, number in id_of.items() if number in by_id}


def _to_plain(found: Explanation, providers: Mapping[int, Plain]) -> Plain:
    return {
        "sentence": _sentence(found),
        "has_candidates": found.has_candidates,
        "providers_total": found.hosts_total,
        "providers_left": found.hosts_left,
        "ruled_out": found.ruled_out,
        "root": found.root,
        "groups": [_group(group, providers) for group in found.groups],
    }


def _group(group: GroupExplanation, providers: Mapping[int, Plain]) -> Plain:
    return {
        "suffix": group.suffix,
        "parts": group.parts,
        "nearest": [
            {"provider": providers[miss.row], "lacks": miss.lacks}
            for miss in group.nearest
            if miss.row in providers
        ],
    }


def _sentence(found: Explanation) -> str:
    """Return a sentence about the conditions that reject providers; a tree counts as one."""
    if not found.hosts_total:
        return "No provider has an inventory."
    parts = list(ruled_out.parts_of(found.ruled_out, {}))
    if found.has_candidates:
        parts.insert(0, (found.hosts_left, "may serve this", "may serve this"))
    text = ruled_out.joined(parts, found.hosts_total, "provider")
    return f"{text[0].upper()}{text[1:]}."
