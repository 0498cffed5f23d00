"""Security groups of a server: without a network service it always has the default one."""

from api.call import Call
from api.handlers.networks.network_proxy import group_of
from api.handlers.servers import server
from api.handlers.servers.server_request import DEFAULT_SECURITY_GROUP
from api.policies.networks import server_attachment as policies
from api.schemas.networks import server_attachment as schemas
from armillary import exception
from armillary.http.call import Answer


def add(call: Call) -> Answer:
    """Add a security group to the server: it has the default one already."""
    _check_known(call, call.body["addSecurityGroup"]["name"])
    return Answer()


def remove(call: Call) -> Answer:
    """Refuse to remove the default security group."""
    _check_known(call, call.body["removeSecurityGroup"]["name"])
    raise exception.Invalid(
        f"Security group {DEFAULT_SECURITY_GROUP} cannot be removed from server "
        f"{call.subject.uuid}: without a network service each server has that one, without rules."
    )


def _check_known(call: Call, name: str) -> None:
    """Raise NotFound unless a security group, by name or id, is the default one."""
    if name not in (DEFAULT_SECURITY_GROUP, group_of(call.subject.project_id)["id"]):
        raise exception.NotFound(
            f"Security group {name} could not be found: there is '{DEFAULT_SECURITY_GROUP}' only."
        )


ACTIONS = {
    "addSecurityGroup": server.action(
        add, policies.ADD_SECURITY_GROUP, body=schemas.ADD_SECURITY_GROUP, status=202
    ),
    "removeSecurityGroup": server.action(
        remove, policies.REMOVE_SECURITY_GROUP, body=schemas.REMOVE_SECURITY_GROUP, status=202
    ),
}
