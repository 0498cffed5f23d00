"""Network proxies of early API versions; there is no network service behind them.

So there is no network to choose and no floating IP, and each project has the security group
``default`` alone, without rules. Clients that find no network service look all that up here.
"""

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from api.call import Call
from api.handlers.servers import server
from api.handlers.servers.server_request import DEFAULT_SECURITY_GROUP
from api.policies.networks import network_proxy as policies
from api.schemas.networks import network_proxy as schemas
from armillary import exception
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes

UNTIL = (2, 35)
ACTIONS_UNTIL = (2, 43)
_NO_SERVICE = "there is no network service"
_DEFAULT_ONLY = f"without a network service there is '{DEFAULT_SECURITY_GROUP}' only, without rules"


def list_networks(call: Call) -> Answer:
    """List the networks of the project: always empty."""
    return Answer({"networks": []})


def show_network(call: Call) -> Answer:
    """Show a network: always not found."""
    raise exception.NotFound(f"Network {call.path['network_id']} could not be found.")


def list_tenant_networks(call: Call) -> Answer:
    """List the networks of the project, at the path for projects: always empty."""
    return list_networks(call)


def show_tenant_network(call: Call) -> Answer:
    """Show a network of the project: always not found."""
    return show_network(call)


def list_security_groups(call: Call) -> Answer:
    """List the security groups of the project: the default one."""
    return Answer({"security_groups": [group_of(call.context.project_id)]})


def show_security_group(call: Call) -> Answer:
    """Show the default security group of the project."""
    return Answer({"security_group": _find_group(call, call.path["group_id"])})


def create_security_group(_call: Call) -> Answer:
    """Refuse to create a security group."""
    raise exception.Invalid(f"No security group can be created: {_DEFAULT_ONLY}.")


def update_security_group(call: Call) -> Answer:
    """Refuse to change the default security group."""
    _find_group(call, call.path["group_id"])
    raise exception.Invalid(f"The security group cannot be changed: {_DEFAULT_ONLY}.")


def delete_security_group(call: Call) -> Answer:
    """Refuse to delete the default security group."""
    _find_group(call, call.path["group_id"])
    raise exception.Invalid(f"The security group cannot be deleted: {_DEFAULT_ONLY}.")


def create_rule(call: Call) -> Answer:
    """Refuse to add a rule to the default security group."""
    _find_group(call, call.body["security_group_rule"]["parent_group_id"])
    raise exception.Invalid(f"No rule can be created: {_DEFAULT_ONLY}.")


def delete_rule(call: Call) -> Answer:
    """Refuse to delete a rule: there is none."""
    raise exception.NotFound(f"Rule {call.path['rule_id']} could not be found: {_DEFAULT_ONLY}.")


def list_floating_ips(call: Call) -> Answer:
    """List the floating IPs of the project: it has none."""
    return Answer({"floating_ips": []})


def show_floating_ip(call: Call) -> Answer:
    """Show a floating IP: there is none."""
    raise _no_floating_ip(call.path["address_id"])


def delete_floating_ip(call: Call) -> Answer:
    """Release a floating IP: there is none."""
    raise _no_floating_ip(call.path["address_id"])


def create_floating_ip(call: Call) -> Answer:
    """Refuse to allocate a floating IP: there is no pool of them."""
    pool = (call.body or {}).get("pool") or "default"
    raise exception.NotFound(f"Floating IP pool {pool} could not be found: {_NO_SERVICE}.")


def list_floating_ip_pools(call: Call) -> Answer:
    """List the pools of floating IPs: there is none."""
    return Answer({"floating_ip_pools": []})


def add_floating_ip(call: Call) -> Answer:
    """Refuse to give a server a floating IP: there is none."""
    raise _no_floating_ip(call.body["addFloatingIp"]["address"])


def remove_floating_ip(call: Call) -> Answer:
    """Refuse to take a floating IP from a server: it has none."""
    raise _no_floating_ip(call.body["removeFloatingIp"]["address"])


def add_fixed_ip(call: Call) -> Answer:
    """Refuse to give a server another address."""
    raise _addresses_refused(call)


def remove_fixed_ip(call: Call) -> Answer:
    """Refuse to take an address from a server."""
    raise _addresses_refused(call)


def _addresses_refused(call: Call) -> exception.Invalid:
    return exception.Invalid(
        f"The addresses of server {call.subject.uuid} cannot be changed: {_NO_SERVICE}."
    )


def _no_floating_ip(wanted: str) -> exception.NotFound:
    return exception.NotFound(f"Floating IP {wanted} could not be found: {_NO_SERVICE}.")


def _find_group(call: Call, wanted: str) -> Document:
    """Return the default security group. Raises NotFound for another one."""
    group = group_of(call.context.project_id)
    if wanted != group["id"]:
        raise exception.NotFound(f"Security group {wanted} could not be found: {_DEFAULT_ONLY}.")
    return group


def group_of(project_id: str | None) -> Document:
    """Return the default security group of a project."""
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_OID, f"armillary/security-group/{project_id}")),
        "name": DEFAULT_SECURITY_GROUP,
        "description": "Default security group",
        "tenant_id": project_id,
        "rules": [],
    }


def _proxied(
    handler: Callable[[Call], Answer], rule: str, answer: Document | None = None, **more: Any
) -> Action[Call]:
    return Action(handler, rule, answer, until=UNTIL, **more)


ROUTES: Routes[Call] = {
    "/v2.1/os-networks": {
        "GET": _proxied(list_networks, policies.NETWORKS, schemas.NETWORKS_ANSWER)
    },
    "/v2.1/os-networks/{network_id}": {
        "GET": _proxied(show_network, policies.NETWORK, schemas.NETWORK_ANSWER)
    },
    "/v2.1/os-tenant-networks": {
        "GET": _proxied(list_tenant_networks, policies.TENANT_NETWORKS, schemas.NETWORKS_ANSWER)
    },
    "/v2.1/os-tenant-networks/{network_id}": {
        "GET": _proxied(show_tenant_network, policies.TENANT_NETWORK, schemas.NETWORK_ANSWER)
    },
    "/v2.1/os-security-groups": {
        "GET": _proxied(
            list_security_groups, policies.SECURITY_GROUPS, schemas.SECURITY_GROUPS_ANSWER
        ),
        "POST": _proxied(
            create_security_group,
            policies.CREATE_GROUP,
            schemas.SECURITY_GROUP_ANSWER,
            body=schemas.CREATE_GROUP,
        ),
    },
    "/v2.1/os-security-groups/{group_id}": {
        "GET": _proxied(
            show_security_group, policies.SECURITY_GROUP, schemas.SECURITY_GROUP_ANSWER
        ),
        "PUT": _proxied(
            update_security_group,
            policies.UPDATE_GROUP,
            schemas.SECURITY_GROUP_ANSWER,
            body=schemas.CREATE_GROUP,
        ),
        "DELETE": _proxied(delete_security_group, policies.DELETE_GROUP, status=202),
    },
    "/v2.1/os-security-group-rules": {
        "POST": _proxied(
            create_rule, policies.CREATE_RULE, schemas.RULE_ANSWER, body=schemas.CREATE_RULE
        )
    },
    "/v2.1/os-security-group-rules/{rule_id}": {
        "DELETE": _proxied(delete_rule, policies.DELETE_RULE, status=202)
    },
    "/v2.1/os-floating-ips": {
        "GET": _proxied(list_floating_ips, policies.FLOATING_IPS, schemas.FLOATING_IPS_ANSWER),
        "POST": _proxied(
            create_floating_ip,
            policies.CREATE_FLOATING_IP,
            schemas.FLOATING_IP_ANSWER,
            body=schemas.CREATE_FLOATING_IP,
        ),
    },
    "/v2.1/os-floating-ips/{address_id}": {
        "GET": _proxied(show_floating_ip, policies.FLOATING_IP, schemas.FLOATING_IP_ANSWER),
        "DELETE": _proxied(delete_floating_ip, policies.DELETE_FLOATING_IP, status=202),
    },
    "/v2.1/os-floating-ip-pools": {
        "GET": _proxied(
            list_floating_ip_pools, policies.FLOATING_IP_POOLS, schemas.FLOATING_IP_POOLS_ANSWER
        )
    },
}


def _action(handler: Callable[[Call], Answer], rule: str, body: Mapping[str, Any]) -> Action[Call]:
    return server.action(handler, rule, body=body, status=202, until=ACTIONS_UNTIL)


ACTIONS = {
    "addFloatingIp": _action(
        add_floating_ip, policies.ADD_FLOATING_IP, schemas.floating_ip_action("addFloatingIp")
    ),
    "removeFloatingIp": _action(
        remove_floating_ip,
        policies.REMOVE_FLOATING_IP,
        schemas.floating_ip_action("removeFloatingIp"),
    ),
    "addFixedIp": _action(add_fixed_ip, policies.ADD_FIXED_IP, schemas.ADD_FIXED_IP),
    "removeFixedIp": _action(remove_fixed_ip, policies.REMOVE_FIXED_IP, schemas.REMOVE_FIXED_IP),
}
