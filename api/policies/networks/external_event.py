"""External events: services and administrators send them."""

from api.policies.base import ADMIN, rule

CREATE = "os_compute_api:os-server-external-events:create"

RULES = [rule(CREATE, f"role:service or {ADMIN}", "Tell of events outside of this service.")]
