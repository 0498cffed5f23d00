"""Remote consoles of servers: members may ask for them."""

from api.policies.base import MEMBER, rule

CREATE = "os_compute_api:os-remote-consoles"

RULES = [rule(CREATE, MEMBER, "Ask for a remote console of a server.")]
