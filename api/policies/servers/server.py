"""Servers: who may create, see and delete them, and who sees their hosts."""

from api.policies.base import ADMIN, MEMBER, READER, rule

INDEX = "os_compute_api:servers:index"
DETAIL = "os_compute_api:servers:detail"
INDEX_ALL_PROJECTS = "os_compute_api:servers:index:get_all_tenants"
DETAIL_ALL_PROJECTS = "os_compute_api:servers:detail:get_all_tenants"
ALL_FILTERS = "os_compute_api:servers:allow_all_filters"
SHOW = "os_compute_api:servers:show"
CREATE = "os_compute_api:servers:create"
CREATE_FORCED_HOST = "os_compute_api:servers:create:forced_host"
CREATE_REQUESTED_DESTINATION = "compute:servers:create:requested_destination"
ZERO_DISK_FLAVOR = "os_compute_api:servers:create:zero_disk_flavor"
UPDATE = "os_compute_api:servers:update"
DELETE = "os_compute_api:servers:delete"
EXTENDED_ATTRIBUTES = "os_compute_api:os-extended-server-attributes"

_LIST = ("GET", "/v2.1/servers")
_DETAIL = ("GET", "/v2.1/servers/detail")
_SHOW = ("GET", "/v2.1/servers/{server_id}")
_CREATE = ("POST", "/v2.1/servers")
_ACTION = ("POST", "/v2.1/servers/{server_id}/action")

RULES = [
    rule(INDEX, READER, "List the servers of a project."),
    rule(DETAIL, READER, "List the servers of a project with details."),
    rule(INDEX_ALL_PROJECTS, ADMIN, "List the servers of all projects.", [_LIST]),
    rule(DETAIL_ALL_PROJECTS, ADMIN, "List the servers of all projects with details.", [_DETAIL]),
    rule(ALL_FILTERS, ADMIN, "List the servers on one host.", [_LIST, _DETAIL]),
    rule(SHOW, READER, "Show a server."),
    rule(CREATE, MEMBER, "Create servers."),
    rule(
        CREATE_FORCED_HOST,
        ADMIN,
        "Create servers on a host given with the availability zone; this bypasses the filters.",
        [_CREATE],
    ),
    rule(
        CREATE_REQUESTED_DESTINATION,
        ADMIN,
        "Create servers on a host or hypervisor given by its field; the filters still apply.",
        [_CREATE],
    ),
    rule(
        ZERO_DISK_FLAVOR,
        ADMIN,
        "Create, rebuild and rescue servers from the image of a disk with a flavor of disk 0: the "
        "disk is as large as its image says, and no host or quota counts it.",
        [_CREATE, _ACTION],
    ),
    rule(UPDATE, MEMBER, "Change the name and other settings of a server."),
    rule(DELETE, MEMBER, "Delete a server."),
    rule(EXTENDED_ATTRIBUTES, ADMIN, "See the host of a server.", [_SHOW, _DETAIL]),
]
