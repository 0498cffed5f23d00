"""Writes of aggregates and their member providers."""

import datetime as dt
from collections.abc import Callable, Sequence

from oslo_utils import timeutils
from sqlalchemy.orm import Session

from armillary import exception
from armillary.db import Database
from armillary.names.identifiers import is_uuid
from placement.db import aggregates, epochs, providers
from placement.providers.provider_report import ORDER_MAX


class AggregateWriter:
    """Write aggregates that mirror those of another service: the complete set each time."""

    def __init__(
        self, database: Database, clock: Callable[[], dt.datetime] = timeutils.utcnow
    ) -> None:
        self._database = database
        self._clock = clock

    def set_members(
        self, aggregate: str, provider_uuids: Sequence[str], *, order: int | None = None
    ) -> int | None:
        """Set the members of an aggregate to exactly these providers; skip unknown ones.

        Sharing providers and pools stay: they are not added by aggregates of hosts. Changes nothing
        if they were set with a higher order, which is returned.
        """
        if not is_uuid(aggregate):
            raise exception.Invalid(
                reason=f"the UUID of an aggregate must be in lower case, not {aggregate!r}"
            )

        def write(session: Session) -> int | None:
            epoch = epochs.lock(session)
            if order is not None:
                last = aggregates.raise_members_order(session, aggregate, min(order, ORDER_MAX))
                if order < last:
                    return last
            ids = providers.get_ids(session, set(provider_uuids))
            aggregates.set_members(session, aggregate, ids.values(), epoch, self._clock())
            return None

        return self._database.run_in_writer(write)

    def get_members(self, aggregate: str, provider_uuids: Sequence[str]) -> dict[str, list[str]]:
        """Return {"members": of an aggregate, "unknown": UUIDs that no provider has}.

        Sharing providers and pools are omitted. An unknown aggregate has no members.
        """
        with self._database.reader() as session:
            members = aggregates.get_members(session, aggregate)
            known = providers.get_ids(session, set(provider_uuids))
        return {"members": members, "unknown": sorted(set(provider_uuids) - known.keys())}
