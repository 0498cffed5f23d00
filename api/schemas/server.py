"""Servers: creation, filters and display."""

from __future__ import annotations

from api.schemas import flavor
from api.schemas.base import (
    BOOLEAN,
    ENTITY,
    HOST,
    KEY_PATTERN,
    LINKS,
    MAP_SIZE_MAX,
    NAMED,
    NUMBER,
    NUMBER_OR_NULL,
    OBJECT,
    PAGE,
    STRING,
    STRING_MAP,
    STRING_OR_NULL,
    STRINGS,
    TEXT_MAX,
    TIME_OR_NULL,
    UUID,
    Schema,
    every,
    fields,
    integer,
    listed,
    name,
    ruled,
    text,
    text_map,
)

COUNT_MAX = 10000
"""The maximum of ``[conductor] max_count``."""

QUERY_CHARACTERS_MAX = 16384
"""Maximum length of the host query in the hint ``query``."""

_REFERENCE = text(maximum=2048, minimum=1)

_UUIDS: Schema = {
    "type": ["string", "array"],
    "format": "uuid",
    "items": UUID,
    "maxItems": MAP_SIZE_MAX,
}

_HINTS: Schema = {
    "type": "object",
    "maxProperties": MAP_SIZE_MAX,
    "properties": {
        "group": UUID,
        "same_host": _UUIDS,
        "different_host": _UUIDS,
        "build_near_host_ip": {"type": "string", "format": "address"},
        "cidr": {
            "type": "string",
            **ruled({"pattern": r"^/\d{1,3}$"}, "It must be the size of a network, such as /24"),
        },
        "query": {"type": ["string", "array"], "maxLength": QUERY_CHARACTERS_MAX},
    },
    "propertyNames": name(
        KEY_PATTERN, "A hint's name may contain letters, digits, spaces and -_:. only"
    ),
    "additionalProperties": {
        "type": ["string", "array"],
        "maxLength": TEXT_MAX,
        "items": text(),
        "maxItems": MAP_SIZE_MAX,
    },
}

NETWORKS_MAX = 64

_NETWORKS = ruled(
    {
        "type": ["string", "array"],
        "pattern": "^(none|auto)$",
        "minItems": 1,
        "maxItems": NETWORKS_MAX,
        "items": fields({"uuid": UUID, "remote_managed": BOOLEAN}, required=["uuid"]),
    },
    "Networking is not part of this service: allowed are 'none' and 'auto', which have no "
    "effect, and a list of networks by uuid, which determine the hosts",
)

_SERVER = fields(
    {
        "name": name(),
        "flavorRef": _REFERENCE,
        "imageRef": {"type": ["string", "null"], "maxLength": 2048},
        "availability_zone": name(),
        "min_count": integer(1, COUNT_MAX),
        "max_count": integer(1, COUNT_MAX),
        "metadata": text_map(),
        "networks": _NETWORKS,
        "return_reservation_id": BOOLEAN,
        "host": HOST,
        "hypervisor_hostname": HOST,
    },
    required=["name", "flavorRef"],
)

STABLE_STATUSES = [
    "ACTIVE",
    "BUILD",
    "ERROR",
    "SHELVED",
    "SHELVED_OFFLOADED",
    "SHUTOFF",
    "SOFT_DELETED",
    "VERIFY_RESIZE",
]
"""Statuses that a list can be filtered by."""
STATUSES = [
    *STABLE_STATUSES,
    "DELETED",
    "HARD_REBOOT",
    "MIGRATING",
    "REBOOT",
    "REBUILD",
    "RESIZE",
    "REVERT_RESIZE",
]

CREATE = fields(
    {"server": _SERVER, "os:scheduler_hints": _HINTS, "OS-SCH-HNT:scheduler_hints": _HINTS},
    required=["server"],
)

INDEX_QUERY = fields(
    {
        **PAGE,
        "marker": UUID,
        "name": text(minimum=1),
        "status": {"type": "string", "enum": STABLE_STATUSES},
        "host": HOST,
        "reservation_id": name(),
        "all_tenants": BOOLEAN,
        "deleted": ruled(
            {"type": "boolean", "const": False},
            "Deleted servers are not kept: only false is allowed",
        ),
    }
)

_FAULT = fields(
    {"code": NUMBER, "message": STRING, "created": TIME_OR_NULL, "details": STRING_OR_NULL},
    required=["code", "message", "created"],
)

_FOR_ADMINISTRATORS = {
    "OS-EXT-SRV-ATTR:host": STRING_OR_NULL,
    "OS-EXT-SRV-ATTR:hypervisor_hostname": STRING_OR_NULL,
    "OS-EXT-SRV-ATTR:instance_name": STRING,
    "armillary:zone": STRING,
}

_DETAILS = {
    "id": STRING,
    "name": STRING,
    "status": {"enum": STATUSES},
    "tenant_id": STRING,
    "user_id": STRING,
    "hostId": STRING,
    "created": TIME_OR_NULL,
    "updated": TIME_OR_NULL,
    "flavor": flavor.EMBEDDED,
    "image": {"anyOf": [ENTITY, {"const": ""}]},
    "metadata": STRING_MAP,
    "addresses": OBJECT,
    "links": LINKS,
    "server_groups": STRINGS,
    "OS-DCF:diskConfig": STRING,
    "OS-EXT-AZ:availability_zone": STRING,
    "OS-EXT-STS:vm_state": STRING,
    "OS-EXT-STS:task_state": STRING_OR_NULL,
    "OS-EXT-STS:power_state": NUMBER,
    "OS-SRV-USG:launched_at": TIME_OR_NULL,
    "OS-SRV-USG:terminated_at": TIME_OR_NULL,
    "OS-EXT-SRV-ATTR:reservation_id": STRING,
    "OS-EXT-SRV-ATTR:launch_index": NUMBER,
    "locked": BOOLEAN,
    "locked_reason": STRING_OR_NULL,
    "armillary:attempt": NUMBER,
    "armillary:exit_code": NUMBER_OR_NULL,
}

SERVER = fields({**_DETAILS, **_FOR_ADMINISTRATORS, "fault": _FAULT}, required=_DETAILS)

SHOW_ANSWER = every({"server": SERVER})

_LIST_EXTRAS = {
    "servers_links": LINKS,
    "armillary:partial": BOOLEAN,
    "armillary:down_cells": STRINGS,
}

INDEX_ANSWER = fields({"servers": listed(NAMED), **_LIST_EXTRAS}, required=["servers"])
DETAIL_ANSWER = fields({"servers": listed(SERVER), **_LIST_EXTRAS}, required=["servers"])

CREATE_ANSWER = fields(
    {
        "server": every({"id": STRING, "links": LINKS, "OS-DCF:diskConfig": STRING}),
        "reservation_id": STRING,
        "armillary:servers": STRINGS,
    },
    required=["reservation_id", "armillary:servers"],
)
