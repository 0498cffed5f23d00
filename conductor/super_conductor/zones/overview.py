"""This zone and its child zones, with the state that a scheduler knows of them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.db.zones import zone_records
from objects.zones.zone_record import ChildZone
from objects.zones.zone_status import ZoneList, ZoneStatus
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

    def list_zones(self, context: RequestContext) -> ZoneList:
        """See ``SuperConductorAPI``."""
        children = self._database.read(zone_records.list_zones)
        name = str(self._conf.zones.name)
        try:
            heard = self._scheduler.get_zones(context)
            unheard = _OFFLINE
        except exception.Unavailable:
            heard, unheard = {"own": None, "zones": []}, _UNKNOWN
        by_name = {zone["name"]: zone for zone in heard["zones"]}
        return ZoneList(
            own=_status(name, _OWN, heard["own"]) if name else None,
            zones=[_status_of(child, by_name.get(child.name), unheard) for child in children],
        )

    def get_zone(self, context: RequestContext, zone: str) -> ZoneStatus:
        listed = self.list_zones(context)
        for one in (listed.own, *listed.zones):
            if one is not None and one.name == zone:
                return one
        raise exception.ZoneNotFound(zone=zone)

    def refresh_zones(self, context: RequestContext) -> None:
        self._scheduler.refresh_zones(context)


def _status_of(child: ChildZone, heard: Mapping[str, Any] | None, unheard: str) -> ZoneStatus:
    known = heard or {}
    state = "disabled" if child.disabled else known.get("state", unheard)
    last_seen = known.get("last_seen")
    seen_at = None if last_seen is None else datetime.fromisoformat(last_seen)
    return _status(child.name, state, known.get("summary"), last_seen=seen_at)


def _status(
    name: str, state: str, summary: ZoneSummary | None, *, last_seen: datetime | None = None
) -> ZoneStatus:
    if summary is None:
        return ZoneStatus(name, state, last_seen)
    return ZoneStatus(
        name,
        state,
        last_seen,
        **{field: summary.counts.get(name) for field, name in _COUNTS.items()},
        depth=summary.depth,
        capabilities=summary.capabilities,
        zones=summary.zones,
    )
