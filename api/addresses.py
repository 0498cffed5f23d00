"""Addresses of servers: without a network service a workload is reached at its host's address."""

from __future__ import annotations

import ipaddress
import uuid
from typing import Any

from armillary.http.call import Document
from armillary.identifiers import mac_address
from objects.instance import Instance

NETWORK = "public"
"""Name of the only network, that of the hosts; under another, SDKs try to add a floating IP."""
NETWORK_ID = str(uuid.uuid5(uuid.NAMESPACE_URL, "armillary:network"))
SUBNET_ID = str(uuid.uuid5(uuid.NAMESPACE_URL, "armillary:subnet"))


def of(server: Instance) -> dict[str, list[Document]]:
    """Return the addresses of a server by network; none while it is on no host."""
    try:
        found = ipaddress.ip_address(server.host_ip or "")
    except ValueError:
        return {}  # not on a host, or on one that reported none
    address = {
        "version": found.version,
        "addr": str(found),
        "OS-EXT-IPS:type": "fixed",
        "OS-EXT-IPS-MAC:mac_addr": mac_address(server.uuid),
    }
    return {NETWORK: [address]}


def brief(server: Instance) -> dict[str, list[dict[str, Any]]]:
    """Return the addresses with the two fields that every answer has."""
    return {
        network: [{"version": each["version"], "addr": each["addr"]} for each in listed]
        for network, listed in of(server).items()
    }


def port_id(server: Instance) -> str:
    """Return the id of the server's only port."""
    return str(uuid.uuid5(uuid.UUID(NETWORK_ID), server.uuid))
