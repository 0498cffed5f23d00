"""Networks and security groups, which early versions pass on to a network service: there is none.

So there is no network to choose, and each project has the security group ``default`` alone, without
rules. Clients that find no network service look both up here.
"""

from __future__ import annotations

import uuid

from api.call import Call
from api.handlers.servers.server_request import DEFAULT_SECURITY_GROUP
from api.policies.servers import network_proxy as policies
from api.schemas.servers import network_proxy as schemas
from armillary import exception
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes

UNTIL = (2, 35)


def list_networks(call: Call) -> Answer:
    """List the networks of the project: there is none to choose."""
    return Answer({"networks": []})


def show_network(call: Call) -> Answer:
    """Show a network: there is none."""
    raise exception.NotFound(f"Network {call.path['network_id']} could not be found.")


def list_security_groups(call: Call) -> Answer:
    """List the security groups of the project: the default one."""
    return Answer({"security_groups": [group_of(call.context.project_id)]})


def show_security_group(call: Call) -> Answer:
    """Show the default security group of the project."""
    group = group_of(call.context.project_id)
    if call.path["group_id"] != group["id"]:
        raise exception.NotFound(f"Security group {call.path['group_id']} could not be found.")
    return Answer({"security_group": group})


def group_of(project_id: str | None) -> Document:
    """Return the default security group of a project."""
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_OID, f"armillary/security-group/{project_id}")),
        "name": DEFAULT_SECURITY_GROUP,
        "description": "Default security group",
        "tenant_id": project_id,
        "rules": [],
    }


ROUTES: Routes[Call] = {
    "/v2.1/os-networks": {
        "GET": Action(list_networks, policies.NETWORKS, schemas.NETWORKS_ANSWER, until=UNTIL)
    },
    "/v2.1/os-networks/{network_id}": {
        "GET": Action(show_network, policies.NETWORK, schemas.NETWORK_ANSWER, until=UNTIL)
    },
    "/v2.1/os-security-groups": {
        "GET": Action(
            list_security_groups,
            policies.SECURITY_GROUPS,
            schemas.SECURITY_GROUPS_ANSWER,
            until=UNTIL,
        )
    },
    "/v2.1/os-security-groups/{group_id}": {
        "GET": Action(
            show_security_group, policies.SECURITY_GROUP, schemas.SECURITY_GROUP_ANSWER, until=UNTIL
        )
    },
}
