"""Reads of allocations: what some consumers hold, and all of them page by page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armillary import exception
from armillary.db import Database
from placement.db import allocations

PAGE_SIZE_MAX = 10_000

Resources = dict[str, dict[str, int]]


class AllocationReader:
    """Reads allocations from the database, never from memory."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, consumers: Sequence[str]) -> dict[str, dict[str, Resources]]:
        """Return consumer -> provider -> "resources" -> class -> amount."""
        found: dict[str, dict[str, Resources]] = {}
        with self._database.reader() as session:
            rows = allocations.get_allocations(session, set(consumers))
        for row in rows:
            provider = found.setdefault(row.uuid, {}).setdefault(row.provider_uuid, {})
            provider.setdefault("resources", {})[row.resource_class] = row.amount
        return found

    def list(self, *, marker: str | None, limit: int) -> list[dict[str, Any]]:
        """Return those of the next ``limit`` consumers, one item for each consumer and provider."""
        if not 1 <= limit <= PAGE_SIZE_MAX:
            raise exception.Invalid(reason=f"limit must be from 1 to {PAGE_SIZE_MAX}, not {limit}")
        page: dict[tuple[str, str], dict[str, Any]] = {}
        with self._database.reader() as session:
            rows = allocations.list_allocations(session, marker=marker, limit=limit)
        for row in rows:
            item = page.setdefault((row.uuid, row.provider_uuid), _item(row))
            item["resources"][row.resource_class] = row.amount
        return [*page.values()]


def _item(row: Any) -> dict[str, Any]:
    return {
        "consumer_uuid": row.uuid,
        "consumer_type": row.consumer_type,
        "project_id": row.project_id,
        "user_id": row.user_id,
        "provider_uuid": row.provider_uuid,
        "provider_name": row.provider_name,
        "resources": {},
    }
