"""Aggregates: administrators assign hosts to aggregates and zones."""

from api.policies.base import ADMIN, rule

INDEX = "os_compute_api:os-aggregates:index"
CREATE = "os_compute_api:os-aggregates:create"
SHOW = "os_compute_api:os-aggregates:show"
UPDATE = "os_compute_api:os-aggregates:update"
DELETE = "os_compute_api:os-aggregates:delete"
ADD_HOST = "os_compute_api:os-aggregates:add_host"
REMOVE_HOST = "os_compute_api:os-aggregates:remove_host"
SET_METADATA = "os_compute_api:os-aggregates:set_metadata"
CACHE_IMAGES = "compute:aggregates:images"

RULES = [
    rule(INDEX, ADMIN, "List aggregates."),
    rule(CREATE, ADMIN, "Create an aggregate."),
    rule(SHOW, ADMIN, "Show an aggregate."),
    rule(UPDATE, ADMIN, "Change an aggregate's name or zone."),
    rule(DELETE, ADMIN, "Delete an aggregate."),
    rule(ADD_HOST, ADMIN, "Add a host to an aggregate."),
    rule(REMOVE_HOST, ADMIN, "Remove a host from an aggregate."),
    rule(CACHE_IMAGES, ADMIN, "Cache images on the hosts of an aggregate."),
    rule(SET_METADATA, ADMIN, "Change an aggregate's metadata."),
]
