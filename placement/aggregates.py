"""Writes of aggregates: which providers are in one."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from oslo_utils import timeutils
from sqlalchemy.orm import Session

from armillary import exception
from armillary.db import Database
from placement import names
from placement.db import aggregates, epochs, providers


class AggregateWriter:
    """Writes aggregates, which are mirrors of somebody else's: the whole set each time."""

    def __init__(
        self, database: Database, clock: Callable[[], dt.datetime] = timeutils.utcnow
    ) -> None:
        self._database = database
        self._clock = clock

    def set_members(self, aggregate: str, provider_uuids: Sequence[str]) -> None:
        """Make an aggregate hold exactly these providers; unknown ones are skipped.

        Sharing providers stay: it is not hosts' aggregates that put them there.
        """
        if not names.is_uuid(aggregate):
            raise exception.Invalid(
                reason=f"an aggregate is named by its UUID in lower case, not by {aggregate!r}"
            )

        def write(session: Session) -> None:
            epoch = epochs.lock(session)
            ids = providers.get_ids(session, set(provider_uuids))
            aggregates.set_members(session, aggregate, ids.values(), epoch, self._clock())

        self._database.run_in_writer(write)

    def get_members(self, aggregate: str, provider_uuids: Sequence[str]) -> dict[str, list[str]]:
        """Return {"members": of an aggregate, "unknown": those of some UUIDs that no provider has}.

        Sharing providers are left out. An aggregate that nobody wrote has no members.
        """
        with self._database.reader() as session:
            members = aggregates.get_members(session, aggregate)
            known = providers.get_ids(session, set(provider_uuids))
        return {"members": members, "unknown": sorted(set(provider_uuids) - known.keys())}
