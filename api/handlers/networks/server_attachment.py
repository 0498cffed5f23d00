"""Attachments of a server by a network service: one interface, in the network of its host."""

from collections.abc import Sequence

from api.call import Call
from api.formats import addresses
from api.handlers.servers import server
from api.policies.networks import server_attachment as policies
from api.schemas.networks import server_attachment as schemas
from armillary import exception
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Routes
from armillary.names.identifiers import mac_address


def list_addresses(call: Call) -> Answer:
    """List the addresses of a server by network."""
    return Answer({"addresses": addresses.brief(call.subject)})


def show_addresses(call: Call) -> Answer:
    """Show the addresses of a server in one network."""
    network = call.path["network"]
    found = addresses.brief(call.subject)
    if network not in found:
        raise exception.NotFound(what=f"Network {network} of this server")
    return Answer({network: found[network]})


def list_interfaces(call: Call) -> Answer:
    """List the ports of a server: one while it is on a host."""
    return Answer({"interfaceAttachments": _ports(call)})


def show_interface(call: Call) -> Answer:
    """Show the port of a server."""
    for port in _ports(call):
        if port["port_id"] == call.path["port_id"]:
            return Answer({"interfaceAttachment": port})
    raise exception.NotFound(what=f"Port {call.path['port_id']} of this server")


def attach_interface(call: Call) -> Answer:
    """Refuse to attach an interface: no network service has ports."""
    raise _interface_refused(call)


def detach_interface(call: Call) -> Answer:
    """Refuse to detach the interface."""
    raise _interface_refused(call)


def _interface_refused(call: Call) -> exception.Invalid:
    return exception.Invalid(
        f"The interface of server {call.subject.uuid} cannot be changed: without a network service "
        "each server has one, in the network of its host."
    )


def _ports(call: Call) -> list[Document]:
    """Return the ports of a server: one while it is on a host."""
    found = addresses.of(call.subject).get(addresses.NETWORK, [])
    listed = [each["addr"] for each in found]
    return [_port(call, listed)] if listed else []


def _port(call: Call, listed: Sequence[str]) -> Document:
    return {
        "port_id": addresses.port_id(call.subject),
        "net_id": addresses.NETWORK_ID,
        "mac_addr": mac_address(call.subject.uuid),
        "port_state": "ACTIVE",
        "fixed_ips": [{"ip_address": each, "subnet_id": addresses.SUBNET_ID} for each in listed],
        "tag": None,
    }


def list_security_groups(_call: Call) -> Answer:
    """List the security groups of a server's ports: always empty.

    Clients look up each of them in the network service, as Ansible's module does.
    """
    return Answer({"security_groups": []})


def show_password(call: Call) -> Answer:
    """Show the encrypted password that the guest has published: none does."""
    return Answer({"password": ""})


def clear_password(call: Call) -> Answer:
    """Clear the password that the guest has published; there is none."""
    return Answer()


ROUTES: Routes[Call] = {
    "/v2.1/servers/{server_id}/ips": {
        "GET": server.action(list_addresses, policies.ADDRESSES, schemas.ADDRESSES_ANSWER)
    },
    "/v2.1/servers/{server_id}/ips/{network}": {
        "GET": server.action(show_addresses, policies.NETWORK, schemas.NETWORK_ANSWER)
    },
    "/v2.1/servers/{server_id}/os-interface": {
        "GET": server.action(list_interfaces, policies.INTERFACES, schemas.INTERFACES_ANSWER),
        "POST": server.action(attach_interface, policies.ATTACH_INTERFACE, body=schemas.OTHERS),
    },
    "/v2.1/servers/{server_id}/os-interface/{port_id}": {
        "GET": server.action(show_interface, policies.INTERFACE, schemas.INTERFACE_ANSWER),
        "DELETE": server.action(detach_interface, policies.DETACH_INTERFACE),
    },
    "/v2.1/servers/{server_id}/os-security-groups": {
        "GET": server.action(
            list_security_groups, policies.SECURITY_GROUPS, schemas.SECURITY_GROUPS_ANSWER
        )
    },
    "/v2.1/servers/{server_id}/os-server-password": {
        "GET": server.action(show_password, policies.PASSWORD, schemas.PASSWORD_ANSWER),
        "DELETE": server.action(clear_password, policies.CLEAR_PASSWORD, status=204),
    },
}
