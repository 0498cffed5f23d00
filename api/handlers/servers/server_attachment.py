"""Attachments of a server by other services: lists are empty, as there are none here."""

from __future__ import annotations

from api.call import Call
from armillary import exception
from armillary.http.call import Answer


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
