"""Aggregates: each change is stored, then sent to placement and the schedulers."""

import logging
import uuid
from collections.abc import Callable, Collection
from typing import Any

from sqlalchemy.orm import Session

from armillary.context import RequestContext
from armillary.db import Database
from armillary.db.changes_once import ChangeOnce
from conductor.common.clock import Clock, moment
from conductor.super_conductor.db import metadata_seq
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.hosts.cluster_metadata import MetadataPublisher
from conductor.super_conductor.hosts.zone_guard import ZoneGuard
from objects.aggregate import Aggregate, AggregateChanges
from objects.extra_specs import aggregate_metadata
from rpc.notifications import SILENT, Notifier
from rpc.notifications.notifier import START

LOG = logging.getLogger(__name__)


class AggregatesEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(
        self,
        database: Database,
        metadata: MetadataPublisher,
        guard: ZoneGuard,
        now: Clock,
        notifier: Notifier = SILENT,
    ) -> None:
        self._guard = guard
        self._notifier = notifier
        self._database = database
        self._metadata = metadata
        self._now = now

    def create_aggregate(
        self, context: RequestContext, name: str, availability_zone: str | None
    ) -> Aggregate:
        now, made_uuid = moment(self._now()), str(uuid.uuid4())
        wanted = Aggregate.from_values(uuid=made_uuid, name=name)
        self._notifier.aggregate(context, "create", wanted, START)
        return self._change(
            context,
            "create",
            lambda session: aggregates.create_aggregate(
                session, name, availability_zone, now=now, aggregate_uuid=made_uuid
            ),
            name,
        )

    def list_aggregates(self, context: RequestContext) -> list[Aggregate]:
        return self._database.read(aggregates.list_aggregates)

    def get_aggregate(self, context: RequestContext, aggregate: str) -> Aggregate:
        return self._database.read(aggregates.get_aggregate, aggregate)

    def update_aggregate(
        self, context: RequestContext, aggregate: str, changes: AggregateChanges
    ) -> Aggregate:
        now = moment(self._now())
        what = "update_prop" if changes.metadata is None else "update_metadata"
        self._begins(context, what, aggregate)
        changed = self._change(
            context,
            what,
            lambda session: aggregates.update_aggregate(session, aggregate, changes, now=now),
            aggregate,
            changes,
        )
        _warn_of_numbers(changed, changes.metadata or {})
        return changed

    def delete_aggregate(self, context: RequestContext, aggregate: str) -> None:
        self._begins(context, "delete", aggregate)
        gone, seq = self._guard.run(
            context, lambda session: aggregates.delete_aggregate(session, aggregate)
        )
        self._notifier.aggregate(context, "delete", gone)
        self._metadata.aggregate_changed(gone, seq, is_gone=True)

    def add_aggregate_host(self, context: RequestContext, aggregate: str, host: str) -> Aggregate:
        now = moment(self._now())
        self._begins(context, "add_host", aggregate)
        return self._change(
            context,
            "add_host",
            lambda session: aggregates.add_host(session, aggregate, host, now=now),
            aggregate,
            host,
        )

    def remove_aggregate_host(
        self, context: RequestContext, aggregate: str, host: str
    ) -> Aggregate:
        now = moment(self._now())
        self._begins(context, "remove_host", aggregate)
        return self._change(
            context,
            "remove_host",
            lambda session: aggregates.remove_host(session, aggregate, host, now=now),
            aggregate,
            host,
        )

    def _begins(self, context: RequestContext, what: str, aggregate: str) -> None:
        """Notify about the start of a change, with the aggregate as it is before.

        Raises AggregateNotFound.
        """
        if self._notifier.is_silent:
            return
        before = self._database.read(aggregates.get_aggregate, aggregate)
        self._notifier.aggregate(context, what, before, START)

    def _change(
        self,
        context: RequestContext,
        what: str,
        fn: Callable[[Session], Aggregate],
        *arguments: Any,
    ) -> Aggregate:
        """Make a change with these arguments, once; and tell of it, with each repeat again."""
        once = ChangeOnce.of(context, f"{what}_aggregate", *arguments)

        def change(session: Session) -> Aggregate:
            return once.run(
                session,
                lambda: fn(session),
                name=lambda changed: changed.uuid,
                get=lambda aggregate_uuid: _get_again(session, aggregate_uuid),
                now=self._now(),
            )

        changed, seq = self._guard.run(context, change)
        self._notifier.aggregate(context, what, changed)
        self._metadata.aggregate_changed(changed, seq)
        return changed


def _get_again(session: Session, aggregate_uuid: str) -> Aggregate:
    """Return an aggregate to tell of again, under a number of its own as each change has."""
    metadata_seq.increment_seq(session)
    return aggregates.get_aggregate(session, aggregate_uuid)


def _warn_of_numbers(aggregate: Aggregate, changed: Collection[str]) -> None:
    """Warn of values that schedulers will ignore, because they are not numbers."""
    for key in aggregate_metadata.invalid_numbers(aggregate.metadata):
        if key in changed:
            LOG.warning(
                "Aggregate %s: metadata %s is %r, which is not a number; its hosts have the "
                "configured value instead",
                aggregate.name, key, aggregate.metadata[key],
            )  # fmt: skip
