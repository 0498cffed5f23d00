"""Zones: the deployments below this one, which requests of this one may go to."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from api import times
from api.call import Answer, Call

_FIGURES = ("hosts", "hosts_up", "hosts_disabled", "own_hosts", "zones_total", "depth")


def index(call: Call) -> Answer:
    """List the zones right below this one, and what this one tells its own parents."""
    listed = call.conductor.list_zones(call.context)
    own = listed["own"]
    return Answer(
        {
            "own": None if own is None else _brief(own),
            "zones": [_brief(zone) for zone in listed["zones"]],
        }
    )


def show(call: Call) -> Answer:
    """Show a zone with all it promises and the zones below it."""
    zone = call.conductor.get_zone(call.context, call.path["zone_name"])
    return Answer(
        {
            "zone": {
                **_brief(zone),
                "capabilities": zone.get("capabilities"),
                "zones": [_nested(each) for each in zone.get("zones", [])],
            }
        }
    )


def refresh(call: Call) -> Answer:
    """Have every zone below push its summary now, instead of when it is due."""
    call.conductor.refresh_zones(call.context)
    return Answer()


def _brief(zone: dict[str, Any]) -> dict[str, Any]:
    last_seen = zone.get("last_seen")
    return {
        "name": zone["name"],
        "state": zone["state"],
        "last_seen": times.seconds(last_seen and datetime.fromisoformat(last_seen)),
        **{name: zone.get(name) for name in _FIGURES},
    }


def _nested(zone: dict[str, Any]) -> dict[str, Any]:
    """Return a zone further down by name and state: a transport URL is never part of it."""
    return {
        "name": zone["name"],
        "state": zone["state"],
        "zones": [_nested(each) for each in zone.get("zones", [])],
    }
