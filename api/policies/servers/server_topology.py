"""NUMA topology of servers: their project sees it, administrators also what is the host's."""

from api.policies.base import ADMIN, READER, rule

SHOW = "compute:server:topology:index"
HOST = "compute:server:topology:host:index"

_PATH = [("GET", "/v2.1/servers/{server_id}/topology")]

RULES = [
    rule(SHOW, READER, "Show the NUMA topology of a server."),
    rule(HOST, ADMIN, "Show the NUMA nodes and CPUs of its host with that.", _PATH),
]
