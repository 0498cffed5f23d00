"""Traits: standard ones, which always exist, custom ones, and those of providers."""

import datetime as dt
from collections.abc import Callable, Collection, Sequence

from oslo_utils import timeutils
from sqlalchemy.orm import Session

from armillary import exception
from armillary.db import Database
from placement.db import epochs, provider_traits, providers
from placement.db import names as queries
from placement.db.names import NameRow
from placement.db.provider_traits import ProviderTraits
from placement.providers import names
from placement.providers.resource_classes import NameRecord


class Traits:
    """Read and write traits, and the traits of single providers."""

    def __init__(
        self, database: Database, clock: Callable[[], dt.datetime] = timeutils.utcnow
    ) -> None:
        self._database = database
        self._clock = clock

    def list(
        self, *, among: Collection[str] | None = None, prefix: str = "", is_associated: bool = False
    ) -> Sequence[NameRecord]:
        """Return traits sorted by name, optionally filtered by names, prefix, or use by a provider.

        A standard trait that no provider ever had is dated as of this call.
        """
        rows = self._database.read(queries.list_traits, is_associated=is_associated)
        times = {row.name: row.updated_at for row in rows}
        if not is_associated:
            times = dict.fromkeys(names.standard_traits(), self._clock()) | times
        return [
            NameRecord(name, times[name])
            for name in sorted(times)
            if name.startswith(prefix) and (among is None or name in among)
        ]

    def get(self, name: str) -> NameRecord:
        """Return a trait. Raises ``TraitNotFound``."""
        return self._database.read(self._get, name)

    def missing(self, trait_names: Collection[str]) -> Sequence[str]:
        """Return the unknown names among these, sorted."""
        return self._database.read(queries.missing_traits, trait_names)

    def ensure(self, name: str) -> tuple[NameRecord, bool]:
        """Create a trait with a valid name unless it exists; return whether it was created."""

        def write(session: Session) -> tuple[NameRecord, bool]:
            epochs.lock(session)
            if row := queries.find_trait(session, name):
                return NameRecord(row.name, row.updated_at), False
            now = self._clock()
            queries.trait_ids(session, [name], now)
            return NameRecord(name, now), True

        return self._database.run_in_writer(write)

    def delete(self, name: str) -> None:
        """Delete a custom trait that no provider has.

        Raises ``StandardName``, ``TraitNotFound``, ``TraitInUse``.
        """
        if names.is_standard_trait(name):
            raise exception.StandardName(verb="delete", kind="trait", name=name)

        def write(session: Session) -> None:
            epochs.lock(session)
            row = _find_row(session, name)
            if row is None:
                raise exception.TraitNotFound(traits=name)
            if queries.is_trait_used(session, row.id):
                raise exception.TraitInUse(trait=name)
            queries.delete_trait(session, row.id)

        self._database.run_in_writer(write)

    def get_of(self, provider: str) -> ProviderTraits:
        """Return the traits of a provider. Raises ``ResourceProviderNotFound``."""
        return self._database.read(_get_of, provider)

    def set_of(self, provider: str, generation: int, traits: Collection[str]) -> ProviderTraits:
        """Replace the traits of a provider; return the new state.

        Raises ``ResourceProviderNotFound``, ``ResourceProviderGenerationConflict``,
        ``TraitNotFound``.
        """
        return self._write_of(provider, traits, generation)

    def clear_of(self, provider: str) -> ProviderTraits:
        """Remove all traits of a provider. Raises ``ResourceProviderNotFound``."""
        return self._write_of(provider, [])

    def _write_of(
        self, provider: str, traits: Collection[str], generation: int | None = None
    ) -> ProviderTraits:
        after = set(traits)

        def write(session: Session) -> ProviderTraits:
            epoch, now = epochs.lock(session), self._clock()
            before = _get_of(session, provider)
            if generation is not None and generation != before.generation:
                raise exception.ResourceProviderGenerationConflict(provider=before.uuid)
            if missing := queries.missing_traits(session, after):
                raise exception.TraitNotFound(traits=", ".join(missing))
            if after == before.traits:
                return before
            provider_traits.store(session, [(before.id, before.traits, after)], now)
            providers.touch(session, [before.id], epoch, now)
            epochs.publish_facts(session, epoch)
            return ProviderTraits(before.id, before.uuid, before.generation + 1, now, after)

        return self._database.run_in_writer(write)

    def _get(self, session: Session, name: str) -> NameRecord:
        if row := _find_row(session, name):
            return NameRecord(row.name, row.updated_at)
        if names.is_standard_trait(name):
            return NameRecord(name, self._clock())
        raise exception.TraitNotFound(traits=name)


def _find_row(session: Session, name: str) -> NameRow | None:
    return queries.find_trait(session, name) if names.is_trait(name) else None


def _get_of(session: Session, provider: str) -> ProviderTraits:
    uuid = names.to_uuid(provider)
    found = provider_traits.find(session, uuid) if uuid else None
    if found is None:
        raise exception.ResourceProviderNotFound(provider=provider)
    return found
