"""Explanations: whoever sees a server may ask why it is where it is; hosts have a rule apart."""

from __future__ import annotations

from api.policies.base import ADMIN, READER, rule

SHOW = "os_compute_api:armillary:explain"
SHOW_HOSTS = "os_compute_api:armillary:explain:hosts"

RULES = [
    rule(
        SHOW,
        READER,
        "Explain where a server is and why, in counts, reasons and weights.",
        [("GET", "/v2.1/armillary/servers/{server_id}/explain")],
    ),
    rule(
        SHOW_HOSTS,
        ADMIN,
        "See the names of hosts in explanations and dry runs, and the details of faults.",
        [
            ("GET", "/v2.1/armillary/servers/{server_id}/explain"),
            ("POST", "/v2.1/armillary/dry-run"),
        ],
    ),
]
