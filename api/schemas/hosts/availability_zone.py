"""Availability zones: named sets of hosts that users choose among."""

from api.schemas.base import BOOLEAN, STRING, TIME_OR_NULL, Schema, every, listed

_SERVICE = every({"available": BOOLEAN, "active": BOOLEAN, "updated_at": TIME_OR_NULL})
_HOSTS: Schema = {
    "type": "object",
    "additionalProperties": {"type": "object", "additionalProperties": _SERVICE},
}
_STATE = every({"available": BOOLEAN})


def _answer(hosts: Schema) -> Schema:
    zone = every({"zoneName": STRING, "zoneState": _STATE, "hosts": hosts})
    return every({"availabilityZoneInfo": listed(zone)})


INDEX_ANSWER = _answer({"type": "null"})
DETAIL_ANSWER = _answer(_HOSTS)
