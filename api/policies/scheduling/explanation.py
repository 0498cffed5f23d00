"""Explanations: for users who may see the server; host names have a separate rule."""

from api.policies.base import ADMIN, READER, rule

SHOW = "os_compute_api:armillary:explain"
SHOW_HOSTS = "os_compute_api:armillary:explain:hosts"

RULES = [
    rule(SHOW, READER, "Explain why a server is on its host, with counts, reasons and weights."),
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
