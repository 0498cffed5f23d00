"""Replicated metadata: cells, aggregates and zones for schedulers, aggregates for placement."""

import logging
from collections.abc import Iterable

from sqlalchemy.orm import Session

from armillary.context import RequestContext, admin_context
from armillary.db import Database
from conductor.super_conductor.db import cells, metadata_seq
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.db.zones import zone_records
from conductor.super_conductor.hosts.aggregate_members import AggregateMembers
from objects.aggregate import Aggregate
from objects.hosts.cluster_metadata import ClusterMetadataDict
from placement.interface import PlacementAPI
from scheduler.interface import SchedulerAPI

LOG = logging.getLogger(__name__)


class MetadataPublisher:
    """Pushes each change immediately, and everything periodically, in case a change was missed.

    The change is stored before. A failed push is logged and repaired later. As an endpoint, it
    answers schedulers that start.
    """

    def __init__(
        self, database: Database, scheduler: SchedulerAPI, placement: PlacementAPI
    ) -> None:
        self._database = database
        self._scheduler = scheduler
        self._members = AggregateMembers(database, placement)
        self._seq_pushed = -1

    def get_cluster_metadata(self, context: RequestContext) -> ClusterMetadataDict:
        """See ``SuperConductorAPI``."""
        return self._database.read(self._read)

    def push_to_schedulers(self) -> None:
        """Push the metadata to all schedulers."""
        metadata = self.get_cluster_metadata(admin_context())
        try:
            self._scheduler.update_cluster_metadata(admin_context(), metadata)
        except Exception as error:
            LOG.warning(
                "Cannot push metadata change %d to the schedulers: %s", metadata["seq"], error
            )
        else:
            self._seq_pushed = metadata["seq"]

    def push_to_schedulers_if_changed(self) -> None:
        """Push the metadata if another process changed it, such as ``armillary-manage``."""
        seq = self._database.read(metadata_seq.get_seq)
        if seq != self._seq_pushed:
            self.push_to_schedulers()

    def aggregates_changed(self, changed: Iterable[Aggregate]) -> None:
        """Update these aggregates' members in placement, then push the metadata to the schedulers.

        In this order, so that no scheduler queries placement for an availability zone that has no
        members there yet.
        """
        for aggregate in changed:
            self._update_placement(aggregate)
        self.push_to_schedulers()

    def aggregate_changed(self, changed: Aggregate, seq: int, *, is_gone: bool = False) -> None:
        """Do the same for one aggregate, in a message whose size does not depend on the others.

        ``seq`` is the number of the change. A scheduler that missed the one before it fetches all
        metadata.
        """
        self._update_placement(changed)
        try:
            if is_gone:
                self._scheduler.delete_aggregate(admin_context(), changed.uuid, seq=seq)
            else:
                self._scheduler.update_aggregates(admin_context(), [changed], seq=seq)
        except Exception as error:
            LOG.warning("Cannot push metadata change %d to the schedulers: %s", seq, error)
        else:
            self._seq_pushed = max(self._seq_pushed, seq)

    def aggregates_of_hosts_changed(self, hosts: Iterable[str]) -> None:
        """Update aggregates with these hosts, whose nodes changed, in placement."""
        named = set(hosts)
        for aggregate in self._list_aggregates():
            if named.intersection(aggregate.hosts):
                self._update_placement(aggregate)

    def repair(self) -> None:
        """Push everything again."""
        self.aggregates_changed(self._list_aggregates())

    def _update_placement(self, aggregate: Aggregate) -> None:
        try:
            self._members.send(admin_context(), aggregate.uuid)
        except Exception as error:
            LOG.warning("Cannot update aggregate %s in placement: %s", aggregate.name, error)

    def _list_aggregates(self) -> list[Aggregate]:
        return self._database.read(aggregates.list_aggregates)

    @staticmethod
    def _read(session: Session) -> ClusterMetadataDict:
        return {
            # Read first: newer data with an older number is pushed again; the reverse would get
            # lost.
            "seq": metadata_seq.get_seq(session),
            "hosts_seq": metadata_seq.get_hosts_seq(session),
            "cells": [
                {"uuid": cell.uuid, "name": cell.name, "disabled": cell.disabled}
                for cell in cells.list_cells(session)
            ],
            "aggregates": aggregates.list_aggregates(session),
            "zones": [
                {
                    "uuid": zone.uuid,
                    "name": zone.name,
                    "transport_url": zone.transport_url,
                    "disabled": zone.disabled,
                    "weight_offset": zone.weight_offset,
                    "weight_scale": zone.weight_scale,
                }
                for zone in zone_records.list_zones(session)
            ],
        }
