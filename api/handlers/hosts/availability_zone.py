"""Availability zones: names and state, and hosts for administrators."""

from api.call import Call
from api.formats import times
from api.handlers.hosts.service import shown_binary
from api.policies.hosts import availability_zone as policies
from api.schemas.hosts import availability_zone as schemas
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes
from objects.hosts.host_answers import AvailabilityZone, HostAvailability

COMPUTE_BINARY = "armillary-compute"


def index(call: Call) -> Answer:
    """List availability zones."""
    return _answer(call, shows_hosts=False)


def detail(call: Call) -> Answer:
    """List availability zones with their hosts."""
    return _answer(call, shows_hosts=True)


def _answer(call: Call, *, shows_hosts: bool) -> Answer:
    zones = call.conductor.list_availability_zones(call.context)
    return Answer(
        {"availabilityZoneInfo": [_show(call, zone, shows_hosts=shows_hosts) for zone in zones]}
    )


def _show(call: Call, zone: AvailabilityZone, *, shows_hosts: bool) -> Document:
    hosts = {host: _host(call, state) for host, state in zone.hosts.items()}
    return {
        "zoneName": zone.name,
        "zoneState": {"available": zone.available},
        "hosts": hosts if shows_hosts else None,
    }


def _host(call: Call, state: HostAvailability) -> Document:
    seen = times.microseconds(state.last_seen_up)
    service = {"available": state.up, "active": not state.disabled, "updated_at": seen}
    return {shown_binary(call, COMPUTE_BINARY): service}


ROUTES: Routes[Call] = {
    "/v2.1/os-availability-zone": {"GET": Action(index, policies.LIST, schemas.INDEX_ANSWER)},
    "/v2.1/os-availability-zone/detail": {
        "GET": Action(detail, policies.DETAIL, schemas.DETAIL_ANSWER)
    },
}
