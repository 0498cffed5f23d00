"""Attachments of a server by other services: lists are empty, as there are none here."""

from __future__ import annotations

from api.call import Call
from api.handlers.servers import server
from api.policies.servers import server_attachment as policies
from api.schemas.servers import server_attachment as schemas
from armillary import exception
from armillary.http.call import Answer
from armillary.http.dispatch import Action, Routes


def list_addresses(call: Call) -> Answer:
    """List the addresses of a server by network."""
    return Answer({"addresses": {}})


def show_addresses(call: Call) -> Answer:
    """Show the addresses of a server in one network."""
    raise exception.NotFound(what=f"Network {call.path['network']} of this server")


def list_interfaces(call: Call) -> Answer:
    """List the ports of a server."""
    return Answer({"interfaceAttachments": []})


def list_security_groups(call: Call) -> Answer:
    """List the security groups of a server's ports."""
    return Answer({"security_groups": []})


def list_volumes(call: Call) -> Answer:
    """List the volumes of a server."""
    return Answer({"volumeAttachments": []})


ROUTES: Routes[Call] = {
    "/v2.1/servers/{server_id}/ips": {
        "GET": Action(
            list_addresses, policies.ADDRESSES, schemas.ADDRESSES_ANSWER, subject=server.load
        )
    },
    "/v2.1/servers/{server_id}/ips/{network}": {
        "GET": Action(show_addresses, policies.NETWORK, schemas.NETWORK_ANSWER, subject=server.load)
    },
    "/v2.1/servers/{server_id}/os-interface": {
        "GET": Action(
            list_interfaces, policies.INTERFACES, schemas.INTERFACES_ANSWER, subject=server.load
        )
    },
    "/v2.1/servers/{server_id}/os-security-groups": {
        "GET": Action(
            list_security_groups,
            policies.SECURITY_GROUPS,
            schemas.SECURITY_GROUPS_ANSWER,
            subject=server.load,
        )
    },
    "/v2.1/servers/{server_id}/os-volume_attachments": {
        "GET": Action(list_volumes, policies.VOLUMES, schemas.VOLUMES_ANSWER, subject=server.load)
    },
}
