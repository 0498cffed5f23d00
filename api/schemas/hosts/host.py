"""Hosts, as versions until 2.42 show them."""

from __future__ import annotations

from api.schemas.base import NUMBER, STRING, every, fields, listed, name

UNTIL = (2, 42)
"""The last version that has these paths."""

INDEX_QUERY = fields({"zone": name()})

_RESOURCE = every(
    {"host": STRING, "project": STRING, "cpu": NUMBER, "memory_mb": NUMBER, "disk_gb": NUMBER}
)

INDEX_ANSWER = every(
    {"hosts": listed(every({"host_name": STRING, "service": STRING, "zone": STRING}))}
)
SHOW_ANSWER = every({"host": listed(every({"resource": _RESOURCE}))})
