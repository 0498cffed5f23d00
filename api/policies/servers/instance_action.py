"""Instance actions: who may see the actions on a server."""

from api.policies.base import ADMIN, READER, rule

LIST = "os_compute_api:os-instance-actions:list"
SHOW = "os_compute_api:os-instance-actions:show"
EVENT_DETAILS = "os_compute_api:os-instance-actions:events:details"

_PATH = "/v2.1/servers/{server_id}/os-instance-actions"
_SHOW = ("GET", f"{_PATH}/{{request_id}}")

RULES = [
    rule(LIST, READER, "List the actions on a server."),
    rule(SHOW, READER, "Show one action on a server with its events."),
    rule(EVENT_DETAILS, ADMIN, "See hosts and reasons in the events of an action.", [_SHOW]),
]
