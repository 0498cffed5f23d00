"""Zones: the deployments below this one, to which requests may be forwarded."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from api.call import Call
from api.formats import times
from api.policies.scheduling import zone as policies
from api.schemas.scheduling import zone as schemas
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, ActionByBody, Routes
from objects.zones.zone_record import ZoneRecord, ZoneSettings
from objects.zones.zone_status import ZoneStatus

_FIGURES = ("hosts", "hosts_up", "hosts_disabled", "own_hosts", "zones_total", "depth")


def index(call: Call) -> Answer:
    """List the direct child zones, and the summary of this zone for its parents."""
    listed = call.conductor.list_zones(call.context)
    own = listed.own
    return Answer(
        {
            "own": None if own is None else _brief(own),
            "zones": [_brief(zone) for zone in listed.zones],
        }
    )


def show(call: Call) -> Answer:
    """Show a zone with its capabilities and the zones below it."""
    zone = call.conductor.get_zone(call.context, call.path["zone_name"])
    return Answer(
        {
            "zone": {
                **_brief(zone),
                "capabilities": zone.capabilities,
                "zones": [nested(each) for each in zone.zones],
            }
        }
    )


def create(call: Call) -> Answer:
    """Add a child zone; this zone's schedulers query it from then on."""
    given = call.body["zone"]
    made = call.conductor.create_zone(
        call.context, given["name"], _settings(given), verify=given.get("verify", True)
    )
    return Answer({"zone": _record(made)}, status=201)


def update(call: Call) -> Answer:
    """Change how a child zone is reached and weighed, or turn it off and on."""
    given = call.body["zone"]
    changed = call.conductor.update_zone(
        call.context, call.path["zone_name"], _settings(given), verify=given.get("verify", True)
    )
    return Answer({"zone": _record(changed)})


def delete(call: Call) -> Answer:
    """Remove a child zone from the tree; nothing is changed in the zone itself."""
    force = call.query.get("force") == "true"
    call.conductor.delete_zone(call.context, call.path["zone_name"], force=force)
    return Answer(status=204)


def refresh(call: Call) -> Answer:
    """Have every zone below push its summary now."""
    call.conductor.refresh_zones(call.context)
    return Answer()


def _settings(given: Mapping[str, Any]) -> ZoneSettings:
    names = (each.name for each in dataclasses.fields(ZoneSettings))
    return ZoneSettings(**{name: given.get(name) for name in names})


def _record(zone: ZoneRecord) -> Document:
    return {
        **dataclasses.asdict(zone),
        "created_at": times.seconds(zone.created_at),
        "updated_at": times.seconds(zone.updated_at),
    }


def _brief(zone: ZoneStatus) -> Document:
    return {
        "name": zone.name,
        "state": zone.state,
        "last_seen": times.seconds(zone.last_seen),
        **{name: getattr(zone, name) for name in _FIGURES},
    }


def nested(zone: Mapping[str, Any]) -> Document:
    """Return a zone further down by name and state: its transport URL is never shown."""
    return {
        "name": zone["name"],
        "state": zone["state"],
        "zones": [nested(each) for each in zone.get("zones", [])],
    }


ROUTES: Routes[Call] = {
    "/v2.1/armillary/zones": {
        "GET": Action(index, policies.LIST, schemas.INDEX_ANSWER),
        "POST": ActionByBody(
            {
                "refresh": Action(refresh, policies.REFRESH, body=schemas.REFRESH, status=202),
                "zone": Action(
                    create, policies.CREATE, schemas.RECORD_ANSWER, body=schemas.CREATE, status=201
                ),
            }
        ),
    },
    "/v2.1/armillary/zones/{zone_name}": {
        "GET": Action(show, policies.SHOW, schemas.SHOW_ANSWER),
        "PUT": Action(update, policies.UPDATE, schemas.RECORD_ANSWER, body=schemas.UPDATE),
        "DELETE": Action(delete, policies.DELETE, query=schemas.DELETE_QUERY, status=204),
    },
}
