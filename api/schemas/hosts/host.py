"""Hosts, as versions until 2.42 show them."""

from api.schemas.base import NUMBER, STRING, every, fields, listed, ruled, text

UNTIL = (2, 42)
"""The last version that has these paths."""

INDEX_QUERY = fields({"zone": text()})

_RESOURCE = every(
    {"host": STRING, "project": STRING, "cpu": NUMBER, "memory_mb": NUMBER, "disk_gb": NUMBER}
)

INDEX_ANSWER = every(
    {"hosts": listed(every({"host_name": STRING, "service": STRING, "zone": STRING}))}
)
_SWITCH = ruled(
    {"type": "string", "pattern": "^([Ee]nable|[Dd]isable)$"}, "It must be 'enable' or 'disable'"
)
UPDATE = {**fields({"status": _SWITCH, "maintenance_mode": _SWITCH}), "minProperties": 1}
UPDATE_ANSWER = every({"host": STRING, "status": STRING})
POWER_ANSWER = every({"host": STRING, "power_action": STRING})
SHOW_ANSWER = every({"host": listed(every({"resource": _RESOURCE}))})
