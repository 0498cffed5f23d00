"""Writes of providers: what their owners report, single traits, and their end."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from oslo_utils import timeutils
from sqlalchemy.orm import Session

from armillary import exception
from armillary.db import Database
from placement import names
from placement.db import epochs
from placement.db import providers as queries
from placement.provider_report import Facts, facts_after, is_provider_name

TRANSACTION_SIZE_MAX = 1000  # providers; claims wait while they are written


class ProviderWriter:
    """Writes providers. Doing anything twice is fine; what changes nothing writes nothing."""

    def __init__(
        self, database: Database, clock: Callable[[], dt.datetime] = timeutils.utcnow
    ) -> None:
        self._database = database
        self._clock = clock

    def set_providers(self, reports: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Create or update providers, each on its own; see ``PlacementAPI.set_providers``."""
        for report in reports:
            if not isinstance(report, Mapping):
                raise exception.Invalid(reason=f"a provider is an object, not {report!r}")
        results: list[dict[str, Any]] = []
        for first in range(0, len(reports), TRANSACTION_SIZE_MAX):
            part = reports[first : first + TRANSACTION_SIZE_MAX]
            write = functools.partial(_write, reports=part, clock=self._clock)
            results += self._database.run_in_writer(write)
        return results

    def set_trait(self, provider: str, trait: str, *, present: bool) -> None:
        """Add or remove a trait. Raises ``ResourceProviderNotFound``, ``TraitNotFound``."""
        if not names.is_trait(trait):
            raise exception.TraitNotFound(traits=trait)

        def write(session: Session) -> None:
            epoch = epochs.lock(session)
            old = queries.get_facts(session, [provider]).get(provider)
            if old is None:
                raise exception.ResourceProviderNotFound(provider=provider)
            traits = old.traits | {trait} if present else old.traits - {trait}
            queries.store(session, [(old, replace(old, traits=traits))], epoch, self._clock())

        self._database.run_in_writer(write)

    def delete(self, provider: str) -> None:
        """Remove a provider; gone already is fine.

        Raises ``ResourceProviderInUse`` when it has allocations, ``ResourceProviderHasChildren``.
        """

        def write(session: Session) -> None:
            epoch = epochs.lock(session)
            number = queries.get_ids(session, [provider]).get(provider)
            if number is not None:
                remove_unused(session, provider, number, epoch, self._clock())

        self._database.run_in_writer(write)


def remove_unused(
    session: Session, provider: str, provider_id: int, epoch: int, now: dt.datetime
) -> None:
    """Delete a provider. Raises ``ResourceProviderInUse``, ``ResourceProviderHasChildren``."""
    if queries.has_children(session, provider_id):
        raise exception.ResourceProviderHasChildren(provider=provider)
    if queries.has_allocations(session, provider_id):
        raise exception.ResourceProviderInUse(provider=provider)
    queries.remove(session, provider_id, epoch, now)


def _write(
    session: Session, reports: Sequence[Mapping[str, Any]], clock: Callable[[], dt.datetime]
) -> list[dict[str, Any]]:
    epoch = epochs.lock(session)
    uuids = _values(reports, "uuid", names.is_uuid)
    wanted = _values(reports, "name", is_provider_name)
    plan = _Plan(queries.get_facts(session, uuids), queries.get_uuids_by_name(session, wanted))
    results = [plan.add(report) for report in reports]
    queries.store(session, plan.changes, epoch, clock())
    return results


def _values(
    reports: Sequence[Mapping[str, Any]], field: str, is_sound: Callable[[object], bool]
) -> set[str]:
    return {report[field] for report in reports if is_sound(report.get(field))}


class _Plan:
    """What a batch of reports changes, each on its own, decided one after the other."""

    def __init__(self, stored: Mapping[str, Facts], uuids_by_name: Mapping[str, str]) -> None:
        self.changes: list[tuple[Facts | None, Facts]] = []
        self._stored = stored
        self._uuids_by_name = dict(uuids_by_name)
        self._seen: set[str] = set()

    def add(self, report: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result for one report."""
        uuid = report.get("uuid")
        old = self._stored.get(uuid) if isinstance(uuid, str) else None
        try:
            new = facts_after(report, old)
            self._check_unique(new)
        except exception.ArmillaryError as error:
            return _result(uuid, old, str(error))
        self._seen.add(new.uuid)
        self._uuids_by_name[new.name] = new.uuid
        if new != old:
            new = replace(new, generation=new.generation + 1)
            self.changes.append((old, new))
        return _result(new.uuid, new, None)

    def _check_unique(self, facts: Facts) -> None:
        if facts.uuid in self._seen:
            raise exception.Invalid(
                reason=f"resource provider {facts.uuid} is named twice in one call"
            )
        owner = self._uuids_by_name.get(facts.name, facts.uuid)
        if owner != facts.uuid:
            raise exception.Invalid(
                reason=f"resource provider {facts.uuid}: the name {facts.name} is that of "
                f"resource provider {owner}"
            )


def _result(uuid: Any, facts: Facts | None, error: str | None) -> dict[str, Any]:
    inventories = facts.inventories if facts else {}
    return {
        "uuid": uuid,
        "generation": facts.generation if facts else None,
        "inventories": {name: item.to_plain() for name, item in inventories.items()},
        "error": error,
    }
