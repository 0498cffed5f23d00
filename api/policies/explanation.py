"""Explanations: whoever sees a server may ask why it is where it is."""

from __future__ import annotations

from api.policies.base import READER, rule

SHOW = "os_compute_api:armillary:explain"

RULES = [
    rule(
        SHOW,
        READER,
        "Explain where a server is and why. Names of hosts are for administrators.",
        [("GET", "/v2.1/armillary/servers/{server_id}/explain")],
    ),
]
