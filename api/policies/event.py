"""Events: administrators follow the events of all servers and hosts."""

from api.policies.base import ADMIN, rule

FOLLOW = "os_compute_api:armillary:events"

RULES = [rule(FOLLOW, ADMIN, "Follow live events.")]
