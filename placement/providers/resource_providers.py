"""Single providers with their trees and aggregates, as read and written by the REST API."""

import calendar
import datetime as dt
import itertools
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import TypeVar

import numpy as np
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from armillary import exception
from armillary.db import Database
from armillary.db.changes_once import ChangeOnce
from armillary.names.identifiers import is_uuid
from placement.db import aggregates, epochs
from placement.db import provider_tree as tree
from placement.db import providers as queries
from placement.ledger.feasibility import fits
from placement.providers.columns import Mask
from placement.providers.inventory import AMOUNT_MAX
from placement.providers.provider_record import ProviderAggregates, ProviderFilters, ProviderRecord
from placement.providers.provider_report import NAME_LENGTH_MAX, is_provider_name
from placement.providers.provider_table import ProviderTable
from placement.providers.provider_writes import remove_unused
from placement.providers.table_cache import TableCache

T = TypeVar("T")


class Parent(Enum):
    """Marker for a parent that stays unchanged."""

    UNCHANGED = "unchanged"


class ResourceProviders:
    """Providers and their trees. Each write is one transaction; a refused write changes nothing."""

    def __init__(
        self,
        database: Database,
        table_cache: TableCache,
        clock: Callable[[], dt.datetime] = timeutils.utcnow,
    ) -> None:
        self._database = database
        self._table_cache = table_cache
        self._clock = clock

    def get(self, uuid: str) -> ProviderRecord:
        """Return a provider. Raises ``ResourceProviderNotFound``."""
        return self._database.read(_get, uuid)

    def list(self, filters: ProviderFilters) -> list[ProviderRecord]:
        """Return the providers that pass all filters, oldest first, from one snapshot."""
        with self._database.reader() as session:
            if not is_about_facts(filters):
                return tree.list_records(session, filters)
            with self._table_cache.table_as_of(session) as table:
                ids = ids_that_match(table, filters)
            if filters.name is filters.uuid is filters.in_tree is None:
                return tree.list_records_by_id(session, ids)
            found = frozenset(ids)
            return [item for item in tree.list_records(session, filters) if item.id in found]

    def create(
        self, uuid: str, name: str, parent: str | None = None, *, once: ChangeOnce | None = None
    ) -> ProviderRecord:
        """Create a provider with generation 0, or return the one that was made ``once``.

        Raises ``Invalid`` for the name, ``ResourceProviderExists``, ``ProviderParentRefused``.
        """
        assert is_uuid(uuid), "callers pass UUIDs in canonical form"
        _check_name(name)
        if parent == uuid:
            raise _cannot_create(uuid, name, "parent provider UUID cannot be same as UUID.")

        def write(session: Session, is_again: bool) -> ProviderRecord:
            epoch = epochs.lock(session)
            made = None if once is None else once.find(session)
            if made is not None:
                return _get(session, made)
            present = _find(session, uuid)
            if present and is_again and (present.name, present.parent_provider_uuid) == (
                name, parent
            ):  # fmt: skip
                return present
            above = _find(session, parent) if parent else None
            if parent and above is None:
                raise _cannot_create(uuid, name, "parent provider UUID does not exist.")
            if present:
                raise exception.ResourceProviderExists(field="uuid", value=uuid)
            _check_unique(session, uuid, name)
            now = self._clock()
            tree.insert(session, uuid=uuid, name=name, parent=above, epoch=epoch, now=now)
            if once is not None:
                once.note(session, uuid, now=calendar.timegm(now.timetuple()))
            return _get(session, uuid)

        return self._write(write)

    def update(
        self, uuid: str, name: str, parent: str | Parent | None, *, may_reparent: bool
    ) -> ProviderRecord:
        """Set the name and the parent (None: root) of a provider; its generation is unchanged.

        Without ``may_reparent`` only a root can get a parent. Raises ``Invalid`` for the name,
        ``ResourceProviderNotFound``, ``ResourceProviderExists``, ``ProviderParentRefused``.
        """
        _check_name(name)

        def write(session: Session, is_again: bool) -> ProviderRecord:
            epoch = epochs.lock(session)
            present = _get(session, uuid)
            touched: set[int] = set()
            if parent not in (Parent.UNCHANGED, present.parent_provider_uuid):
                above = _new_parent(session, present, parent, may_reparent)
                touched.update(_move(session, present, above))
            _check_unique(session, uuid, name)
            if name != present.name:
                tree.rename(session, present.id, name)
                touched.add(present.id)
            if not touched:
                return present
            queries.touch_quietly(session, touched, epoch, self._clock())
            epochs.publish_facts(session, epoch)
            return _get(session, uuid)

        return self._write(write)

    def delete(self, uuid: str) -> None:
        """Delete a provider with its inventories, traits and aggregates.

        Raises ``ResourceProviderNotFound``, ``ResourceProviderHasChildren``, and
        ``ResourceProviderInUse`` if it has allocations.
        """

        def write(session: Session, is_again: bool) -> None:
            epoch = epochs.lock(session)
            present = _find(session, uuid)
            if present is not None:
                remove_unused(session, uuid, present.id, epoch, self._clock())
            elif not is_again:
                raise exception.ResourceProviderNotFound(
                    f"No resource provider with uuid {uuid} found for delete.", provider=uuid
                )

        self._write(write)

    def get_aggregates(self, uuid: str) -> ProviderAggregates:
        """Return the aggregates of a provider. Raises ``ResourceProviderNotFound``."""
        return self._database.read(_get_aggregates, uuid)

    def set_aggregates(
        self, uuid: str, wanted: Sequence[str], generation: int | None
    ) -> ProviderAggregates:
        """Set the aggregates of a provider, and increment its generation.

        With a ``generation`` of None it is neither checked nor incremented. Raises
        ``ResourceProviderNotFound``, ``ResourceProviderGenerationConflict``.
        """

        def write(session: Session, is_again: bool) -> ProviderAggregates:
            epoch = epochs.lock(session)
            present = _get_aggregates(session, uuid)
            if generation is None:
                touch = queries.touch_quietly
            elif generation == present.generation:
                touch = queries.touch
            elif (
                is_again
                and present.generation == generation + 1
                and set(present.aggregates) == set(wanted)
            ):
                return present
            else:
                raise exception.ResourceProviderGenerationConflict(provider=uuid)
            aggregates.set_of_provider(session, present, wanted)
            touch(session, [present.provider_id], epoch, self._clock())
            epochs.publish_facts(session, epoch)
            return _get_aggregates(session, uuid)

        return self._write(write)

    def _write(self, write: Callable[[Session, bool], T]) -> T:
        """Run ``write(session, is_again)``; on a retry the first attempt may have been committed.

        This happens if the connection was lost during the commit; see ``Database.run_in_writer``.
        """
        attempts = itertools.count()
        return self._database.run_in_writer(lambda session: write(session, next(attempts) > 0))


def _find(session: Session, uuid: str) -> ProviderRecord | None:
    return tree.find_record(session, uuid) if is_uuid(uuid) else None


def _get(session: Session, uuid: str) -> ProviderRecord:
    record = _find(session, uuid)
    if record is None:
        raise exception.ResourceProviderNotFound(provider=uuid)
    return record


def _get_aggregates(session: Session, uuid: str) -> ProviderAggregates:
    found = aggregates.find_of_provider(session, uuid) if is_uuid(uuid) else None
    if found is None:
        raise exception.ResourceProviderNotFound(provider=uuid)
    return found


def _check_name(name: str) -> None:
    if not is_provider_name(name):
        raise exception.Invalid(
            reason=f"the name of a resource provider must have 1 to {NAME_LENGTH_MAX} printable "
            f"characters, which {name!r} does not"
        )


def _check_unique(session: Session, uuid: str, name: str) -> None:
    if tree.find_uuid(session, name) not in (None, uuid):
        raise exception.ResourceProviderExists(field="name", value=name)


def _new_parent(
    session: Session, present: ProviderRecord, parent: str | None, may_reparent: bool
) -> ProviderRecord | None:
    """Return the new parent of a provider if it changes, else None."""
    if parent is None:
        if not may_reparent:
            raise _cannot_save(present, "un-parenting a provider is not currently allowed.")
        return None
    record = _find(session, parent)
    if record is None:
        raise _cannot_save(present, "parent provider UUID does not exist.")
    if present.parent_provider_uuid is not None and not may_reparent:
        raise _cannot_save(present, "re-parenting a provider is not currently allowed.")
    return record


def _move(session: Session, present: ProviderRecord, above: ProviderRecord | None) -> Sequence[int]:
    """Move a provider with its descendants, and return the affected providers."""
    subtree = tree.get_subtree(session, present.id)
    if above is not None and above.id in subtree:
        raise _cannot_save(present, "creating loop in the provider tree is not allowed.")
    tree.set_parent(session, present.id, subtree, above)
    return subtree


def _cannot_create(uuid: str, name: str, reason: str) -> exception.ProviderParentRefused:
    return exception.ProviderParentRefused(
        action="create", provider=f'"{name}", {uuid}', reason=reason
    )


def _cannot_save(record: ProviderRecord, reason: str) -> exception.ProviderParentRefused:
    return exception.ProviderParentRefused(action="save", provider=record.uuid, reason=reason)


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
    for group in filters.member_of:
        remaining &= _any(map(table.is_member, group))
    for aggregate in filters.forbidden_aggregates:
        remaining &= ~table.is_member(aggregate)
    found: list[int] = table.ids[remaining].tolist()
    return found


def _any(masks: Iterable[Mask]) -> Mask:
    found: Mask = np.logical_or.reduce(list(masks))
    return found
