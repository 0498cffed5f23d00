"""What others know by heart: cells, aggregates and zones in schedulers, aggregates in placement."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from sqlalchemy.orm import Session

from armillary.context import admin_context
from armillary.db import Database
from conductor.api_db import aggregates, cells, facts_seq, host_mappings, zones
from objects.aggregate import Aggregate
from placement.rpcapi import PlacementAPI
from scheduler.rpcapi import SchedulerAPI

LOG = logging.getLogger(__name__)


class Facts:
    """Tells what changed at once, and everything again now and then for those who missed it.

    The change itself is stored before: a failure here is said in the log and repaired later.
    """

    def __init__(
        self, database: Database, scheduler: SchedulerAPI, placement: PlacementAPI
    ) -> None:
        self._database = database
        self._scheduler = scheduler
        self._placement = placement
        self._seq_told = -1

    def get_facts(self) -> dict[str, Any]:
        """Return what ``SuperConductorAPI.get_facts`` promises."""
        with self._database.reader() as session:
            return self._read(session)

    def tell_schedulers(self) -> None:
        """Push the facts to all schedulers."""
        facts = self.get_facts()
        try:
            self._scheduler.update_facts(admin_context(), facts)
        except Exception as error:
            LOG.warning("Schedulers were not told of change %d: %s", facts["seq"], error)
        else:
            self._seq_told = facts["seq"]

    def tell_schedulers_if_changed(self) -> None:
        """Push the facts when somebody else changed them, such as ``armillary-manage``."""
        with self._database.reader() as session:
            seq = facts_seq.get_seq(session)
        if seq != self._seq_told:
            self.tell_schedulers()

    def aggregates_changed(self, changed: Iterable[Aggregate]) -> None:
        """Tell placement of these aggregates' members, then schedulers of all aggregates.

        In this order, so that no scheduler asks placement for a zone that has no members yet.
        """
        for aggregate in changed:
            self._mirror(aggregate)
        self.tell_schedulers()

    def aggregate_changed(self, changed: Aggregate, *, is_gone: bool = False) -> None:
        """Do the same for one aggregate, in a message that does not grow with the others.

        A scheduler that has missed the change before it asks for the facts.
        """
        if not self._scheduler.can_send("1.1"):
            self.aggregates_changed([changed])
            return
        self._mirror(changed)
        with self._database.reader() as session:
            seq = facts_seq.get_seq(session)
        try:
            if is_gone:
                self._scheduler.delete_aggregate(admin_context(), changed.uuid, seq=seq)
            else:
                self._scheduler.update_aggregates(admin_context(), [changed], seq=seq)
        except Exception as error:
            LOG.warning("Schedulers were not told of change %d: %s", seq, error)
        else:
            self._seq_told = seq

    def aggregates_of_hosts_changed(self, hosts: Iterable[str]) -> None:
        """Tell placement of the aggregates that hold one of these hosts, whose nodes changed."""
        named = set(hosts)
        for aggregate in self._list_aggregates():
            if named.intersection(aggregate.hosts):
                self._mirror(aggregate)

    def repair(self) -> None:
        """Tell everything again."""
        self.aggregates_changed(self._list_aggregates())

    def _mirror(self, aggregate: Aggregate) -> None:
        with self._database.reader() as session:
            providers = host_mappings.node_uuids_of(session, aggregate.hosts)
        try:
            self._placement.set_aggregate_members(admin_context(), aggregate.uuid, providers)
        except Exception as error:
            LOG.warning("Placement was not told of aggregate %s: %s", aggregate.name, error)

    def _list_aggregates(self) -> list[Aggregate]:
        with self._database.reader() as session:
            return aggregates.list_aggregates(session)

    @staticmethod
    def _read(session: Session) -> dict[str, Any]:
        return {
            # Read first: facts newer than their number are told again, older ones would not be.
            "seq": facts_seq.get_seq(session),
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
                }
                for zone in zones.list_zones(session)
            ],
        }
