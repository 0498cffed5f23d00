"""This zone and its child zones, with the state that a scheduler knows of them."""

from collections.abc import Mapping
from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.db import zones as zones_db
from objects.zones.child_zone import ChildZone
from objects.zones.zone_summary import ZoneSummary
from scheduler.interface import SchedulerAPI

_COUNTS = {
    "hosts": "hosts",
    "hosts_up": "hosts_up",
    "hosts_disabled": "hosts_disabled",
    "own_hosts": "own_hosts",
    "zones_total": "zones",
}
_UNKNOWN = "unknown"
_OFFLINE = "offline"
_OWN = "own"


class Overview:
    """Endpoint: joins the zone records with the summaries that a scheduler holds."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database, scheduler: SchedulerAPI) -> None:
        self._conf = conf
        self._database = database
        self._scheduler = scheduler

    def list_zones(self, context: RequestContext) -> dict[str, Any]:
        """See ``SuperConductorAPI``."""
        with self._database.reader() as session:
            children = zones_db.list_zones(session)
        name = str(self._conf.zones.name)
        try:
            heard = self._scheduler.get_zones(context)
            unheard = _OFFLINE
        except exception.Unavailable:
            heard, unheard = {"own": None, "zones": []}, _UNKNOWN
        by_name = {zone["name"]: zone for zone in heard["zones"]}
        own = {"name": name, "state": _OWN, "last_seen": None, "summary": heard["own"]}
        return {
            "own": _shown(own) if name else None,
            "zones": [_shown(_told(child, by_name.get(child.name), unheard)) for child in children],
        }

    def get_zone(self, context: RequestContext, zone: str) -> dict[str, Any]:
        listed = self.list_zones(context)
        for one in (listed["own"], *listed["zones"]):
            if one is not None and one["name"] == zone:
                return dict(one)
        raise exception.ZoneNotFound(zone=zone)

    def refresh_zones(self, context: RequestContext) -> None:
        self._scheduler.refresh_zones(context)


def _told(child: ChildZone, heard: Mapping[str, Any] | None, unheard: str) -> dict[str, Any]:
    known = {"last_seen": None, "summary": None, **(heard or {})}
    state = "disabled" if child.disabled else known.get("state", unheard)
    return {**known, "name": child.name, "state": state}


def _shown(zone: Mapping[str, Any]) -> dict[str, Any]:
    summary: ZoneSummary | None = zone["summary"]
    counts = {} if summary is None else summary.counts
    return {
        "name": zone["name"],
        "state": zone["state"],
        "last_seen": zone["last_seen"],
        **{key: counts.get(name) for key, name in _COUNTS.items()},
        "depth": None if summary is None else summary.depth,
        "capabilities": None if summary is None else summary.capabilities,
        "zones": [] if summary is None else summary.zones,
    }
