"""Connections to child zones: one broker each; a silent zone does not delay requests to others.

As for cells (``conductor.super_conductor.hosts.cells``), each zone has a small pool of workers that
may block on it, and
callers wait no longer than a time limit. The list of zones is read from the API database for each
request; the links are kept.
"""

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from oslo_config import cfg

from armillary import exception
from armillary.db import Database
from conductor.super_conductor.db import zones as zones_db
from conductor.super_conductor.peer_link import Asked, Link
from conductor.super_conductor.zones.interface import ZoneAPI
from objects.zones.child_zone import ChildZone
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
            name=f"zone-{zone.name}",
            title=f"Zone {zone.name}",
            workers=conf.conductor.cell_workers,
            logger=LOG,
            lost=lambda reason: exception.ZoneUnavailable(zone=zone.name, reason=reason),
        )
        self.zone = zone
        self._client = ZoneAPI(bus, timeout_seconds=conf.zones.forward_timeout_seconds)

    def ask(self, question: Question[T]) -> Asked[T]:
        return self.submit(lambda: question(self._client))


class ZoneLinks:
    """Connections to the child zones, by zone name."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database, make_bus: MakeBus) -> None:
        self._conf = conf
        self._database = database
        self._make_bus = make_bus
        self._links: dict[str, _Link] = {}
        self._guard = threading.Lock()

    def ask(self, name: str, question: Question[T]) -> Asked[T]:
        """Send a request to one zone without waiting. Raises ZoneNotFound, ZoneUnavailable.

        ``question`` is called with the zone's client in one of that zone's threads, perhaps much
        later.
        """
        with self._database.reader() as session:
            zone = zones_db.get_zone(session, name)
        return self._link(zone).ask(question)

    def close(self) -> None:
        """Close all links. Calls that are blocked in them end with the process."""
        with self._guard:
            gone = list(self._links.values())
            self._links.clear()
        for link in gone:
            link.close()

    def _link(self, zone: ChildZone) -> _Link:
        with self._guard:
            link = self._links.get(zone.uuid)
            if link is not None and _is_same_broker(link.zone, zone):
                return link
            made = self._links[zone.uuid] = _Link(
                self._conf, zone, self._make_bus(zone.transport_url, zone_scope(zone.name))
            )
        if link is not None:
            link.close()
        return made


def _is_same_broker(one: ChildZone, other: ChildZone) -> bool:
    return one.transport_url == other.transport_url and one.name == other.name
