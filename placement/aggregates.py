"""Writes of aggregates: which providers are in one."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from armillary import exception
from armillary.db import Database
from placement import names
from placement.db import aggregates, epochs, providers


class AggregateWriter:
    """Writes aggregates, which are mirrors of somebody else's: the whole set each time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def set_members(self, aggregate: str, provider_uuids: Sequence[str]) -> None:
        """Make an aggregate hold exactly these providers; unknown ones are skipped."""
        if not names.is_uuid(aggregate):
            raise exception.Invalid(
                reason=f"an aggregate is named by its UUID in lower case, not by {aggregate!r}"
            )

        def write(session: Session) -> None:
            epoch = epochs.lock(session)
            ids = providers.get_ids(session, set(provider_uuids))
            aggregates.set_members(session, aggregate, ids.values(), epoch)

        self._database.run_in_writer(write)
