"""Links to the web console: every user may make one that logs in the same user."""

from api.policies.base import ANYBODY, rule

CREATE = "os_compute_api:armillary:console-links:create"

RULES = [
    rule(
        CREATE,
        ANYBODY,
        "Make a one-time link that opens the web console with the caller's own token.",
    )
]
