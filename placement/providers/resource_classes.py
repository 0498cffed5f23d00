"""Resource classes: standard ones, which always exist, and custom ones."""

import calendar
import datetime as dt
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from oslo_utils import timeutils
from sqlalchemy.orm import Session

from armillary import exception
from armillary.db import Database
from armillary.db.changes_once import ChangeOnce
from placement.db import epochs, providers
from placement.db import names as queries
from placement.db.names import NameRow
from placement.providers import names


@dataclass(frozen=True, slots=True)
class NameRecord:
    """A resource class or a trait, and when it was created or changed."""

    name: str
    updated_at: dt.datetime


class ResourceClasses:
    """Read and write resource classes. Writes accept valid custom names only."""

    def __init__(
        self, database: Database, clock: Callable[[], dt.datetime] = timeutils.utcnow
    ) -> None:
        self._database = database
        self._clock = clock

    def list(self) -> Sequence[NameRecord]:
        """Return the standard classes, dated as of this call, then the custom ones."""
        rows = self._database.read(queries.list_classes)
        now = self._clock()
        standard = [NameRecord(name, now) for name in names.standard_classes()]
        custom = [row for row in rows if not names.is_standard_class(row.name)]
        return standard + [NameRecord(row.name, row.updated_at) for row in custom]

    def get(self, name: str) -> NameRecord:
        """Return a resource class. Raises ``ResourceClassNotFound``."""
        if names.is_standard_class(name):
            return NameRecord(name, self._clock())
        with self._database.reader() as session:
            row = _get_custom(session, name)
            return NameRecord(row.name, row.updated_at)

    def missing(self, class_names: Collection[str]) -> Sequence[str]:
        """Return the unknown names among these, sorted."""
        return self._database.read(queries.missing_classes, class_names)

    def create(self, name: str, *, once: ChangeOnce | None = None) -> None:
        """Create a resource class. Raises ``ResourceClassExists``, unless it was made ``once``."""
        if not self.ensure(name, once=once):
            raise exception.ResourceClassExists(resource_class=name)

    def ensure(self, name: str, *, once: ChangeOnce | None = None) -> bool:
        """Create a resource class unless it exists; return whether it was created, or ``once``."""

        def write(session: Session) -> bool:
            epochs.lock(session)
            if once is not None and once.find(session) is not None:
                return True
            if queries.find_class(session, name):
                return False
            now = self._clock()
            queries.class_ids(session, [name], now)
            if once is not None:
                once.note(session, name, now=calendar.timegm(now.timetuple()))
            return True

        return self._database.run_in_writer(write)

    def rename(self, name: str, new_name: str) -> None:
        """Rename a custom class; existing inventories of it get the new name.

        Raises ``StandardName``, ``ResourceClassNotFound``, ``ResourceClassExists``.
        """
        _check_not_standard(name, "update")

        def write(session: Session) -> None:
            epoch, now = epochs.lock(session), self._clock()
            row = _get_custom(session, name)
            if new_name == name:
                return
            if queries.find_class(session, new_name):
                raise exception.ResourceClassExists(resource_class=new_name)
            queries.rename_class(session, row.id, new_name, now)
            providers.touch(session, queries.providers_with_class(session, row.id), epoch, now)
            epochs.publish_facts(session, epoch)

        self._database.run_in_writer(write)

    def delete(self, name: str) -> None:
        """Delete a custom class without inventories.

        Raises ``StandardName``, ``ResourceClassNotFound``, ``ResourceClassInUse``.
        """
        _check_not_standard(name, "delete")

        def write(session: Session) -> None:
            epochs.lock(session)
            row = _get_custom(session, name)
            if queries.is_class_used(session, row.id):
                raise exception.ResourceClassInUse(resource_class=name)
            queries.delete_class(session, row.id)

        self._database.run_in_writer(write)


def _check_not_standard(name: str, verb: str) -> None:
    if names.is_standard_class(name):
        raise exception.StandardName(verb=verb, kind="resource class", name=name)


def _get_custom(session: Session, name: str) -> NameRow:
    row = queries.find_class(session, name) if names.is_custom(name) else None
    if row is None:
        raise exception.ResourceClassNotFound(resource_class=name)
    return row
