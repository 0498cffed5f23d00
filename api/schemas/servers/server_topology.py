"""NUMA topology of servers."""

from api.schemas.base import NUMBER, NUMBER_OR_NULL, every, fields, listed

_NODE = {"vcpu_set": listed(NUMBER), "memory_mb": NUMBER, "siblings": listed(listed(NUMBER))}
_OF_HOST = {
    "host_node": NUMBER_OR_NULL,
    "cpu_pinning": {"type": "object", "additionalProperties": NUMBER},
}

SHOW_ANSWER = every(
    {"nodes": listed(fields({**_NODE, **_OF_HOST}, _NODE)), "pagesize_kb": NUMBER_OR_NULL}
)
