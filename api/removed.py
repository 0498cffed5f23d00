"""Paths that the Compute API had once: its later releases answer 410 there, in all versions."""

from collections.abc import Mapping

_ALL = ("GET", "POST", "PUT", "DELETE")
_WHOLE = (
    "os-agents",
    "os-agents/{agent_id}",
    "os-cells",
    "os-cells/{cell_id}",
    "os-cells/{cell_id}/capacities",
    "os-certificates",
    "os-certificates/{certificate_id}",
    "os-cloudpipe",
    "os-cloudpipe/{cloudpipe_id}",
    "os-fixed-ips/{address}",
    "os-fixed-ips/{address}/action",
    "os-floating-ip-dns",
    "os-floating-ip-dns/{domain}",
    "os-floating-ip-dns/{domain}/entries/{entry}",
    "os-floating-ips-bulk",
    "os-floating-ips-bulk/{host}",
    "os-fping",
    "os-fping/{server_id}",
    "os-security-group-default-rules",
    "os-security-group-default-rules/{rule_id}",
    "servers/{server_id}/consoles",
    "servers/{server_id}/consoles/{console_id}",
    "servers/{server_id}/os-virtual-interfaces",
)
"""Paths that are gone with all their methods."""
_IN_PART = {
    "os-networks": ("POST",),
    "os-networks/add": ("POST",),
    "os-networks/{network_id}": ("DELETE",),
    "os-networks/{network_id}/action": ("POST",),
    "os-tenant-networks": ("POST",),
    "os-tenant-networks/{network_id}": ("DELETE",),
}
"""Paths below which only what changed networks is gone: early versions still look them up."""

REMOVED: Mapping[str, tuple[str, ...]] = {
    f"/v2.1/{path}": methods
    for path, methods in {**dict.fromkeys(_WHOLE, _ALL), **_IN_PART}.items()
}
"""Path -> methods that are gone."""
