"""Connections to child zones: one broker each; a silent zone does not delay requests to others.

As for cells (``conductor.super_conductor.hosts.cells``), each zone has a small pool of workers that
may block on it, and callers wait no longer than a time limit. The list of zones is read from the
API database for each request; the links are kept.
"""

import logging
from collections.abc import Callable
from typing import TypeVar

from oslo_config import cfg

from armillary import exception
from armillary.db import Database
from conductor.super_conductor.db.zones import zone_records
from conductor.super_conductor.peer_link import Asked, Link, Links
from conductor.super_conductor.zones.interface import ZoneAPI
from objects.zones.zone_record import ChildZone
from rpc.signing.place import zone_scope
from rpc.transport import Bus, MakeBus

LOG = logging.getLogger(__name__)

T = TypeVar("T")

Question = Callable[[ZoneAPI], T]


class _Link(Link):
    """Connection to one zone: a bus, a client and workers."""

    def __init__(self, conf: cfg.ConfigOpts, zone: ChildZone, bus: Bus) -> None:
        super().__init__(
            bus,
            topic=ZoneAPI.TOPIC,
            name=f"zone-{zone.name}",
            title=f"Zone {zone.name}",
            workers=conf.conductor.cell_workers,
            logger=LOG,
            lost=lambda reason: exception.ZoneUnavailable(zone=zone.name, reason=reason),
        )
        self._client = ZoneAPI(bus, timeout_seconds=conf.zones.forward_timeout_seconds)

    def ask(self, question: Question[T]) -> Asked[T]:
        return self.submit(lambda: question(self._client))


class ZoneLinks:
    """Connections to the child zones, by zone name."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database, make_bus: MakeBus) -> None:
        self._database = database
        self._links = Links[ChildZone, _Link](
            lambda zone: _Link(conf, zone, make_bus(zone.transport_url, zone_scope(zone.name)))
        )

    def ask(self, name: str, question: Question[T]) -> Asked[T]:
        """Send a request to one zone without waiting. Raises ZoneNotFound, ZoneUnavailable.

        ``question`` is called with the zone's client in one of that zone's threads, perhaps much
        later.
        """
        zone = self._database.read(zone_records.get_zone, name)
        try:
            link = self._links.to(zone)
        except exception.ConfigurationError as error:
            raise exception.ZoneUnavailable(zone=name, reason=error.message) from error
        return link.ask(question)

    def close(self) -> None:
        """Close all links."""
        self._links.drop_others(())
