"""Addresses of servers: those that their hosts found, else those of their hosts.

Without a network service, a workload without a network of its own is reached at its host's address.
"""

import ipaddress
import uuid

from armillary.http.call import Document
from armillary.names.identifiers import mac_address
from objects.instance import Instance

NETWORK = "public"
"""Name of the only network, that of the hosts; under another, SDKs try to add a floating IP."""
NETWORK_ID = str(uuid.uuid5(uuid.NAMESPACE_URL, "armillary:network"))
SUBNET_ID = str(uuid.uuid5(uuid.NAMESPACE_URL, "armillary:subnet"))


def of(server: Instance) -> dict[str, list[Document]]:
    """Return the addresses of a server by network; none while it is on no host."""
    if server.host is None:
        return {}
    try:
        found = [ipaddress.ip_address(each) for each in server.addresses or [server.host_ip or ""]]
    except ValueError:
        return {}  # its host reported none
    return {
        NETWORK: [
            {
                "version": address.version,
                "addr": str(address),
                "OS-EXT-IPS:type": "fixed",
                "OS-EXT-IPS-MAC:mac_addr": mac_address(server.uuid),
            }
            for address in found
        ]
    }


def brief(server: Instance) -> dict[str, list[Document]]:
    """Return the addresses with the two fields that every answer has."""
    return {
        network: [{"version": each["version"], "addr": each["addr"]} for each in listed]
        for network, listed in of(server).items()
    }


def port_id(server: Instance) -> str:
    """Return the id of the server's only port."""
    return str(uuid.uuid5(uuid.UUID(NETWORK_ID), server.uuid))
