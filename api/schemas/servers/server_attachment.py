"""Attachments of a server by other services."""

from __future__ import annotations

from api.schemas.base import OBJECT, every

_NONE = {"type": "array", "maxItems": 0}

ADDRESSES_ANSWER = every({"addresses": OBJECT})
NETWORK_ANSWER = OBJECT
INTERFACES_ANSWER = every({"interfaceAttachments": _NONE})
SECURITY_GROUPS_ANSWER = every({"security_groups": _NONE})
VOLUMES_ANSWER = every({"volumeAttachments": _NONE})
