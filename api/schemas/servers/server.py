"""Servers: creation, filters and display."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
    STRING,
    STRING_MAP,
    STRING_OR_NULL,
    STRINGS,
    TEXT_MAX,
    TIME_OR_NULL,
    UUID,
    Part,
    Schema,
    changed,
    every,
    fields,
    integer,
    listed,
    name,
    nullable,
    own,
    ruled,
    since,
    text,
    text_map,
    until,
)
from api.schemas.flavors import flavor
from armillary.http.ranges import Ranged

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
            **ruled(
                {"pattern": r"^/?(\d{1,3}|(\d{1,3}\.){3}\d{1,3})$"},
                "It must be the size of a network, such as /24, or a netmask",
            ),
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

NETWORKS_REQUIRED_SINCE = (2, 37)
_NETWORK_LIST: Schema = {
    "type": "array",
    "maxItems": NETWORKS_MAX,
    "items": fields({"uuid": UUID, "remote_managed": BOOLEAN}, required=["uuid"]),
}
_NETWORKS = changed(
    NETWORKS_REQUIRED_SINCE,
    before=ruled(
        _NETWORK_LIST,
        "Networking is not part of this service: allowed is a list of networks by uuid, which "
        "determine the hosts",
    ),
    after=ruled(
        {**_NETWORK_LIST, "type": ["string", "array"], "pattern": "^(none|auto)$"},
        "Networking is not part of this service: allowed are 'none' and 'auto', which have no "
        "effect, and a list of networks by uuid, which determine the hosts",
    ),
)

_NAME = name()
_DISK_CONFIG = ruled({"enum": ["AUTO", "MANUAL"]}, "It must be 'AUTO' or 'MANUAL'")
_PASSWORD = text(minimum=1)
FILES_MAX = 25
FILE_CHARACTERS_MAX = 87384
"""Maximum length of a file's content in Base64: 64 KiB. Quotas set limits below."""
_BASE64 = {"type": "string", "pattern": r"^[A-Za-z0-9+/\s]*+(?:={1,2}\s*+)?$"}
_FILES: Schema = {
    "type": "array",
    "maxItems": FILES_MAX,
    "items": fields(
        {
            "path": {**text(minimum=1, maximum=1024), "format": "name"},
            "contents": ruled(
                {**_BASE64, "maxLength": FILE_CHARACTERS_MAX}, "It must be Base64 of at most 64 KiB"
            ),
        },
        required=["path", "contents"],
    ),
}
_CONFIG_DRIVE: Schema = {"type": ["boolean", "null"]}
_NO_CERTIFICATES = ruled(
    {"type": ["array", "null"], "maxItems": 0}, "Signatures of images are not verified"
)
_USER_DATA = ruled(
    {**_BASE64, "type": ["string", "null"], "maxLength": 65535},
    "It must be Base64 of at most 65535 characters",
)
_BOOT_INDEX: Schema = {"enum": [0, "0"]}
_NO_SIZE: Schema = {"enum": [0, "0", None]}
"""The size of what has one already; gophercloud sends 0 where none is given."""
_IMAGE_DEVICE = fields(
    {
        "boot_index": _BOOT_INDEX,
        "uuid": UUID,
        "source_type": {"const": "image"},
        "destination_type": {"const": "local"},
        "delete_on_termination": BOOLEAN,  # local disks end with their server in any case
        "volume_size": _NO_SIZE,
    },
    required=["uuid", "source_type"],
)
_VOLUME_DEVICE = fields(
    {
        "boot_index": _BOOT_INDEX,
        "uuid": UUID,
        "source_type": {"const": "volume"},
        "destination_type": {"const": "volume"},
        "delete_on_termination": BOOLEAN,
        "device_name": text(),
        "device_type": text(),
        "disk_bus": text(),
        "volume_size": _NO_SIZE,
        "tag": since(2, 42, text(maximum=60)),
    },
    required=["uuid", "source_type", "boot_index"],
)
SWAP = "swap"
BLANK = "blank"
_FLAVOR_DISK = fields(
    {
        "boot_index": {"enum": [-1, "-1", None]},
        "source_type": {"const": BLANK},
        "destination_type": {"const": "local"},
        "delete_on_termination": BOOLEAN,
        "guest_format": {"enum": [SWAP, "ext4", None]},
        "volume_size": {
            "type": ["integer", "string", "null"],
            "minimum": 0,
            "pattern": r"^\d{1,9}$",
        },
    },
    required=["source_type", "destination_type"],
)
_DEVICES_RULE = (
    "Volumes are not made by this service: allowed is one device to boot from, either the image on "
    "the local disk or a volume that exists, and the ephemeral and the swap disk of the flavor"
)
_BLOCK_DEVICES = ruled(
    {
        "type": "array",
        "maxItems": 3,
        "items": ruled({"oneOf": [_IMAGE_DEVICE, _VOLUME_DEVICE, _FLAVOR_DISK]}, _DEVICES_RULE),
    },
    _DEVICES_RULE,
)
TAG = ruled(
    {"type": "string", "minLength": 1, "maxLength": 60, "pattern": "^[^,/]*$"},
    "A tag may have 60 characters, without commas and slashes",
)
TAGS: Schema = {"type": "array", "items": TAG, "maxItems": 50}
_DESCRIPTION: Schema = {"type": ["string", "null"], "maxLength": TEXT_MAX}
_FULL_HOSTNAME = ruled(
    {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "pattern": "^[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?$",
    },
    "A host name may contain letters, digits, dots and hyphens",
)
_SHORT_HOSTNAME = ruled(
    {
        "type": "string",
        "minLength": 1,
        "maxLength": 63,
        "pattern": "^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$",
    },
    "A host name may contain letters, digits and hyphens, and dots since microversion 2.94",
)
_HOSTNAME = since(2, 90, changed((2, 94), before=_SHORT_HOSTNAME, after=_FULL_HOSTNAME))
_ADDRESSES = {
    "accessIPv4": {"type": "string", "format": "ipv4"},
    "accessIPv6": {"type": "string", "format": "ipv6"},
}

_SERVER = fields(
    {
        "name": _NAME,
        "flavorRef": {**_REFERENCE, "type": ["string", "integer"]},
        "imageRef": {"type": ["string", "null"], "maxLength": 2048},
        "availability_zone": name(),
        "min_count": integer(1, COUNT_MAX),
        "max_count": integer(1, COUNT_MAX),
        "metadata": text_map(is_limited=False),
        "networks": _NETWORKS,
        "return_reservation_id": BOOLEAN,
        "adminPass": _PASSWORD,
        "OS-DCF:diskConfig": _DISK_CONFIG,
        "block_device_mapping_v2": _BLOCK_DEVICES,
        "config_drive": _CONFIG_DRIVE,
        "key_name": name(),
        "personality": until(2, 56, _FILES),
        "security_groups": listed(fields({"name": name()})),
        "user_data": _USER_DATA,
        "description": since(2, 19, _DESCRIPTION),
        "tags": since(2, 52, TAGS),
        "trusted_image_certificates": since(2, 63, _NO_CERTIFICATES),
        "host": since(2, 74, HOST),
        "hypervisor_hostname": since(2, 74, HOST),
        "hostname": _HOSTNAME,
        **_ADDRESSES,
    },
    required=["name", "flavorRef"],
)

UPDATE = every(
    {
        "server": fields(
            {
                "name": _NAME,
                "OS-DCF:diskConfig": _DISK_CONFIG,
                "description": since(2, 19, _DESCRIPTION),
                "hostname": _HOSTNAME,
                **_ADDRESSES,
            }
        )
    }
)

REBUILD = every(
    {
        "rebuild": fields(
            {
                "imageRef": _REFERENCE,
                "name": _NAME,
                "metadata": text_map(is_limited=False),
                "adminPass": _PASSWORD,
                "preserve_ephemeral": BOOLEAN,
                "OS-DCF:diskConfig": _DISK_CONFIG,
                "personality": until(2, 56, _FILES),
                "description": since(2, 19, _DESCRIPTION),
                "key_name": since(2, 54, nullable(name())),
                "user_data": since(2, 57, _USER_DATA),
                "trusted_image_certificates": since(2, 63, _NO_CERTIFICATES),
                "hostname": _HOSTNAME,
                **_ADDRESSES,
            },
            required=["imageRef"],
        )
    }
)

STABLE_STATUSES = [
    "ACTIVE",
    "BUILD",
    "ERROR",
    "PAUSED",
    "RESCUE",
    "SHELVED",
    "SHELVED_OFFLOADED",
    "SHUTOFF",
    "SOFT_DELETED",
    "SUSPENDED",
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
NEVER_SHOWN = ["PASSWORD", "UNKNOWN"]
"""Statuses that a list may be asked for, too, and that no server in it has."""
UNKNOWN_SINCE = (2, 69)
"""Since this version answers have servers of cells that do not answer, with fewer fields."""

CREATE = fields(
    {"server": _SERVER, "os:scheduler_hints": _HINTS, "OS-SCH-HNT:scheduler_hints": _HINTS},
    required=["server"],
)

_FAULT = fields(
    {"code": NUMBER, "message": STRING, "created": TIME_OR_NULL, "details": STRING_OR_NULL},
    required=["code", "message", "created"],
)

_EXTENDED = {
    "reservation_id": STRING,
    "launch_index": NUMBER,
    "hostname": STRING,
    "root_device_name": STRING_OR_NULL,
    "kernel_id": STRING,
    "ramdisk_id": STRING,
    "user_data": STRING_OR_NULL,
}
"""Names behind OS-EXT-SRV-ATTR."""

_FOR_ADMINISTRATORS: dict[str, Part] = {
    "OS-EXT-SRV-ATTR:host": STRING_OR_NULL,
    "OS-EXT-SRV-ATTR:hypervisor_hostname": STRING_OR_NULL,
    "OS-EXT-SRV-ATTR:instance_name": STRING,
    **{f"OS-EXT-SRV-ATTR:{name}": since(2, 3, schema) for name, schema in _EXTENDED.items()},
    "host_status": since(2, 16, {"enum": ["UP", "DOWN", "MAINTENANCE", "UNKNOWN", ""]}),
    "armillary:zone": STRING,
}

_VOLUME = every({"id": STRING, "delete_on_termination": since(2, 3, BOOLEAN)})

_BASIC: dict[str, Part] = {
    "id": STRING,
    "name": STRING,
    "status": changed(
        UNKNOWN_SINCE, before={"enum": STATUSES}, after={"enum": [*STATUSES, "UNKNOWN"]}
    ),
    "tenant_id": STRING,
    "user_id": STRING,
    "hostId": STRING,
    "created": TIME_OR_NULL,
    "updated": TIME_OR_NULL,
    "flavor": changed((2, 47), before=ENTITY, after=flavor.EMBEDDED),
    "image": {"anyOf": [ENTITY, {"const": ""}]},
    "metadata": STRING_MAP,
    "addresses": OBJECT,
    "accessIPv4": STRING,
    "accessIPv6": STRING,
    "links": LINKS,
    "OS-DCF:diskConfig": STRING,
    "locked": since(2, 9, BOOLEAN),
    "description": since(2, 19, STRING_OR_NULL),
    "tags": since(2, 26, STRINGS),
    "server_groups": since(2, 71, STRINGS),
    "locked_reason": since(2, 73, STRING_OR_NULL),
}
"""Fields of all answers with a server."""

_SHOWN: dict[str, Part] = {
    "OS-EXT-AZ:availability_zone": STRING,
    "OS-EXT-STS:vm_state": STRING,
    "OS-EXT-STS:task_state": STRING_OR_NULL,
    "OS-EXT-STS:power_state": NUMBER,
    "OS-SRV-USG:launched_at": TIME_OR_NULL,
    "OS-SRV-USG:terminated_at": TIME_OR_NULL,
    "config_drive": STRING,
    "key_name": STRING_OR_NULL,
    "os-extended-volumes:volumes_attached": listed(_VOLUME),
    "security_groups": listed(every({"name": STRING})),
    "trusted_image_certificates": since(2, 63, {"type": ["array", "null"]}),
    "pinned_availability_zone": since(2, 96, STRING_OR_NULL),
    "armillary:scheduler_hints": {"type": "object", "additionalProperties": STRINGS},
    "armillary:attempt": NUMBER,
    "armillary:exit_code": NUMBER_OR_NULL,
}
"""Fields of the answers that show servers."""

_SOMETIMES: dict[str, Part] = {"progress": NUMBER, "fault": _FAULT}
_CHANGED_AT = (2, 75)
"""Since this version answers to changes have the fields of those that show servers."""


def _since_changed(properties: Mapping[str, Part]) -> dict[str, Part]:
    """Return the fields as answers to changes have them."""
    return {name: Ranged(schema, since=_CHANGED_AT) for name, schema in properties.items()}


_UNKNOWN_STATUS = {"const": "UNKNOWN"}


def _or_unknown(complete: Schema, known: Iterable[str]) -> tuple[Ranged, ...]:
    """Return a server, or since ``UNKNOWN_SINCE`` one of which only some fields are known."""
    properties = {**complete["properties"], "status": _UNKNOWN_STATUS}
    either = [complete, fields(properties, ["id", "status", "links", *known])]
    return changed(UNKNOWN_SINCE, complete, {"properties": complete["properties"], "anyOf": either})


SERVER = _or_unknown(
    fields({**_BASIC, **_SHOWN, **_FOR_ADMINISTRATORS, **_SOMETIMES}, [*_BASIC, *_SHOWN]),
    ["tenant_id", "user_id", "created", "image", "OS-EXT-AZ:availability_zone"],
)

_BASIC_IN_LISTS: dict[str, Part] = {**_BASIC, "server_groups": own(STRINGS)}
SERVER_IN_LIST = _or_unknown(
    fields(
        {**_BASIC_IN_LISTS, **_SHOWN, **_FOR_ADMINISTRATORS, **_SOMETIMES},
        [*_BASIC_IN_LISTS, *_SHOWN],
    ),
    ["tenant_id", "created"],
)

_CHANGED_UNKNOWN = ["tenant_id", "created"]
_CERTIFICATES = "trusted_image_certificates"
UPDATED = _or_unknown(
    fields(
        {
            **_BASIC,
            **_since_changed({**_SHOWN, **_FOR_ADMINISTRATORS}),
            **_SOMETIMES,
            _CERTIFICATES: _SHOWN[_CERTIFICATES],
        },
        [*_BASIC, _CERTIFICATES],
    ),
    _CHANGED_UNKNOWN,
)
REBUILT = _or_unknown(
    fields(
        {
            **_BASIC,
            **_since_changed({**_SHOWN, **_FOR_ADMINISTRATORS}),
            **_SOMETIMES,
            "OS-EXT-SRV-ATTR:user_data": own(STRING_OR_NULL),
            "key_name": since(2, 54, STRING_OR_NULL),
            "user_data": since(2, 57, STRING_OR_NULL),
            _CERTIFICATES: _SHOWN[_CERTIFICATES],
            "adminPass": STRING,
        },
        _BASIC,
    ),
    _CHANGED_UNKNOWN,
)

SHOW_ANSWER = every({"server": SERVER})
UPDATE_ANSWER = every({"server": UPDATED})
REBUILD_ANSWER = every({"server": REBUILT})

_LIST_EXTRAS = {
    "servers_links": LINKS,
    "armillary:partial": BOOLEAN,
    "armillary:down_cells": STRINGS,
}

_UNKNOWN_IN_INDEX = every({"id": STRING, "status": _UNKNOWN_STATUS, "links": LINKS})
_IN_INDEX = changed(UNKNOWN_SINCE, NAMED, {"anyOf": [NAMED, _UNKNOWN_IN_INDEX]})
INDEX_ANSWER = fields({"servers": listed(_IN_INDEX), **_LIST_EXTRAS}, required=["servers"])
DETAIL_ANSWER = fields({"servers": listed(SERVER_IN_LIST), **_LIST_EXTRAS}, required=["servers"])

_CREATED = every(
    {
        "id": STRING,
        "links": LINKS,
        "OS-DCF:diskConfig": STRING,
        "adminPass": STRING,
        "security_groups": listed(every({"name": STRING})),
    }
)

CREATE_ANSWER = fields({"server": _CREATED, "reservation_id": STRING, "armillary:servers": STRINGS})
