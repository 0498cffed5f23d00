"""Form of the identifiers that reach file names, queue names and log lines."""

import hashlib
import re
import uuid
from typing import Any

from armillary import exception
from armillary.context import RequestContext

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._:@-]{0,253}[A-Za-z0-9_])?")

# Bits of the first octet of a MAC address.
_GROUP_ADDRESS, _LOCALLY_ADMINISTERED = 0x01, 0x02


def is_uuid(value: Any) -> bool:
    """Return whether a value is a UUID in its usual form: lower case, with hyphens."""
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


def is_host_name(value: Any) -> bool:
    """Return whether a value can be the name of a host or node.

    It has at most 255 letters, digits and ``. _ : @ -``, and begins and ends with a letter, a digit
    or ``_``.
    """
    return isinstance(value, str) and _HOST.fullmatch(value) is not None


def mac_address(instance_uuid: str) -> str:
    """Return the MAC address of an instance's interface, derived from its UUID.

    It is locally administered and of one station, so that 46 of its 48 bits are free: among a
    million instances, the chance that two have the same is below one in a hundred.
    """
    digest = hashlib.sha256(instance_uuid.encode("ascii")).digest()
    first = digest[0] & ~_GROUP_ADDRESS | _LOCALLY_ADMINISTERED
    return ":".join(f"{octet:02x}" for octet in (first, *digest[1:6]))


def checked_uuid(name: str, value: Any) -> str:
    """Return a UUID. Raises Invalid, with the name of the argument or field."""
    if not is_uuid(value):
        raise exception.Invalid(reason=f"{name} must be a UUID, not {value!a:.100}")
    return str(value)


def uuid_of_request(context: RequestContext, kind: str) -> str:
    """Return the UUID of what a request creates, the same for each repeat of the request."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{context.request_id}/{kind}"))
