"""The zones below this one as it asks them: each by its broker, none holding up the others.

As for cells (``conductor.cells``), each has workers of its own, few enough, that may hang there,
and whoever asks waits no longer than a time limit. Which zones there are is read from the API
database each time; the links are kept.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from oslo_config import cfg

from armillary import exception
from armillary.db import Database
from conductor.api_db import zones as zones_db
from conductor.cells import MakeBus
from conductor.links import Asked, Link
from conductor.zone_rpcapi import ZoneAPI
from objects.child_zone import ChildZone
from rpc.transport import Bus

LOG = logging.getLogger(__name__)

T = TypeVar("T")

Question = Callable[[ZoneAPI], T]


class _Link(Link):
    """One zone's broker: a bus, a client on it, and workers."""

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
    """The children, by their names."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database, make_bus: MakeBus) -> None:
        self._conf = conf
        self._database = database
        self._make_bus = make_bus
        self._links: dict[str, _Link] = {}
        self._guard = threading.Lock()

    def ask(self, name: str, question: Question[T]) -> Asked[T]:
        """Ask one zone without waiting. Raises ZoneNotFound, ZoneUnavailable.

        ``question`` is called with the zone's client, in a thread of that zone, perhaps much later.
        """
        with self._database.reader() as session:
            zone = zones_db.get_zone(session, name)
        return self._link(zone).ask(question)

    def close(self) -> None:
        """Drop all links. What hangs in them ends with the process."""
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
                self._conf, zone, self._make_bus(zone.transport_url)
            )
        if link is not None:
            link.close()
        return made


def _is_same_broker(one: ChildZone, other: ChildZone) -> bool:
    return one.transport_url == other.transport_url and one.name == other.name
