"""Servers: creation, filters and display."""

from collections.abc import Iterable, Mapping

from api.schemas import base
from api.schemas.flavors import flavor
from armillary.http.ranges import Ranged

COUNT_MAX = 10000
"""The maximum of ``[conductor] max_count``."""

QUERY_CHARACTERS_MAX = 16384
"""Maximum length of the host query in the hint ``query``."""

_REFERENCE = base.text(maximum=2048, minimum=1)

_UUIDS: base.Schema = {
    "type": ["string", "array"],
    "format": "uuid",
    "items": base.UUID,
    "maxItems": base.MAP_SIZE_MAX,
}

_HINTS: base.Schema = {
    "type": "object",
    "maxProperties": base.MAP_SIZE_MAX,
    "properties": {
        "group": base.UUID,
        "same_host": _UUIDS,
        "different_host": _UUIDS,
        "build_near_host_ip": {"type": "string", "format": "address"},
        "cidr": {
            "type": "string",
            **base.ruled(
                {"pattern": r"^/?(\d{1,3}|(\d{1,3}\.){3}\d{1,3})$"},
                "It must be the size of a network, such as /24, or a netmask",
            ),
        },
        "query": {"type": ["string", "array"], "maxLength": QUERY_CHARACTERS_MAX},
    },
    "propertyNames": base.name(
        base.KEY_PATTERN, "A hint's name may contain letters, digits, spaces and -_:. only"
    ),
    "additionalProperties": {
        "type": ["string", "array"],
        "maxLength": base.TEXT_MAX,
        "items": base.text(),
        "maxItems": base.MAP_SIZE_MAX,
    },
}

NETWORKS_MAX = 64

NETWORKS_REQUIRED_SINCE = (2, 37)
_NETWORK_LIST: base.Schema = {
    "type": "array",
    "maxItems": NETWORKS_MAX,
    "items": base.fields({"uuid": base.UUID, "remote_managed": base.BOOLEAN}, required=["uuid"]),
}
_NETWORKS = base.changed(
    NETWORKS_REQUIRED_SINCE,
    before=base.ruled(
        _NETWORK_LIST,
        "Networking is not part of this service: allowed is a list of networks by uuid, which "
        "determine the hosts",
    ),
    after=base.ruled(
        {**_NETWORK_LIST, "type": ["string", "array"], "pattern": "^(none|auto)$"},
        "Networking is not part of this service: allowed are 'none' and 'auto', which have no "
        "effect, and a list of networks by uuid, which determine the hosts",
    ),
)

_NAME = base.name()
_DISK_CONFIG = base.ruled({"enum": ["AUTO", "MANUAL"]}, "It must be 'AUTO' or 'MANUAL'")
_PASSWORD = base.text(minimum=1)
FILES_MAX = 25
FILE_CHARACTERS_MAX = 87384
"""Maximum length of a file's content in Base64: 64 KiB. Quotas set limits below."""
_BASE64 = {"type": "string", "pattern": r"^[A-Za-z0-9+/\s]*+(?:={1,2}\s*+)?$"}
_FILES: base.Schema = {
    "type": "array",
    "maxItems": FILES_MAX,
    "items": base.fields(
        {
            "path": {**base.text(minimum=1, maximum=1024), "format": "name"},
            "contents": base.ruled(
                {**_BASE64, "maxLength": FILE_CHARACTERS_MAX}, "It must be Base64 of at most 64 KiB"
            ),
        },
        required=["path", "contents"],
    ),
}
_CONFIG_DRIVE: base.Schema = {"type": ["boolean", "null"]}
_NO_CERTIFICATES = base.ruled(
    {"type": ["array", "null"], "maxItems": 0}, "Signatures of images are not verified"
)
_USER_DATA = base.ruled(
    {**_BASE64, "type": ["string", "null"], "maxLength": 65535},
    "It must be Base64 of at most 65535 characters",
)
_BOOT_INDEX: base.Schema = {"enum": [0, "0"]}
_NO_SIZE: base.Schema = {"enum": [0, "0", None]}
"""The size of what has one already; gophercloud sends 0 where none is given."""
_IMAGE_DEVICE = base.fields(
    {
        "boot_index": _BOOT_INDEX,
        "uuid": base.UUID,
        "source_type": {"const": "image"},
        "destination_type": {"const": "local"},
        "delete_on_termination": base.BOOLEAN,  # local disks end with their server in any case
        "volume_size": _NO_SIZE,
    },
    required=["uuid", "source_type"],
)
_VOLUME_DEVICE = base.fields(
    {
        "boot_index": _BOOT_INDEX,
        "uuid": base.UUID,
        "source_type": {"const": "volume"},
        "destination_type": {"const": "volume"},
        "delete_on_termination": base.BOOLEAN,
        "device_name": base.text(),
        "device_type": base.text(),
        "disk_bus": base.text(),
        "volume_size": _NO_SIZE,
        "tag": base.since(2, 42, base.text(maximum=60)),
    },
    required=["uuid", "source_type", "boot_index"],
)
SWAP = "swap"
BLANK = "blank"
_FLAVOR_DISK = base.fields(
    {
        "boot_index": {"enum": [-1, "-1", None]},
        "source_type": {"const": BLANK},
        "destination_type": {"const": "local"},
        "delete_on_termination": base.BOOLEAN,
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
_BLOCK_DEVICES = base.ruled(
    {
        "type": "array",
        "maxItems": 3,
        "items": base.ruled(
            {"oneOf": [_IMAGE_DEVICE, _VOLUME_DEVICE, _FLAVOR_DISK]}, _DEVICES_RULE
        ),
    },
    _DEVICES_RULE,
)
TAG = base.ruled(
    {"type": "string", "minLength": 1, "maxLength": 60, "pattern": "^[^,/]*$"},
    "A tag may have 60 characters, without commas and slashes",
)
TAGS: base.Schema = {"type": "array", "items": TAG, "maxItems": 50}
_DESCRIPTION: base.Schema = {"type": ["string", "null"], "maxLength": base.TEXT_MAX}
_FULL_HOSTNAME = base.ruled(
    {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "pattern": "^[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?$",
    },
    "A host name may contain letters, digits, dots and hyphens",
)
_SHORT_HOSTNAME = base.ruled(
    {
        "type": "string",
        "minLength": 1,
        "maxLength": 63,
        "pattern": "^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$",
    },
    "A host name may contain letters, digits and hyphens, and dots since microversion 2.94",
)
_HOSTNAME = base.since(2, 90, base.changed((2, 94), before=_SHORT_HOSTNAME, after=_FULL_HOSTNAME))
_ADDRESSES = {
    "accessIPv4": {"type": "string", "format": "ipv4"},
    "accessIPv6": {"type": "string", "format": "ipv6"},
}

_SERVER = base.fields(
    {
        "name": _NAME,
        "flavorRef": {**_REFERENCE, "type": ["string", "integer"]},
        "imageRef": {"type": ["string", "null"], "maxLength": 2048},
        "availability_zone": base.name(),
        "min_count": base.integer(1, COUNT_MAX),
        "max_count": base.integer(1, COUNT_MAX),
        "metadata": base.text_map(is_limited=False),
        "networks": _NETWORKS,
        "return_reservation_id": base.BOOLEAN,
        "adminPass": _PASSWORD,
        "OS-DCF:diskConfig": _DISK_CONFIG,
        "block_device_mapping_v2": _BLOCK_DEVICES,
        "config_drive": _CONFIG_DRIVE,
        "key_name": base.name(),
        "personality": base.until(2, 56, _FILES),
        "security_groups": base.listed(base.fields({"name": base.name()})),
        "user_data": _USER_DATA,
        "description": base.since(2, 19, _DESCRIPTION),
        "tags": base.since(2, 52, TAGS),
        "trusted_image_certificates": base.since(2, 63, _NO_CERTIFICATES),
        "host": base.since(2, 74, base.HOST),
        "hypervisor_hostname": base.since(2, 74, base.HOST),
        "hostname": _HOSTNAME,
        **_ADDRESSES,
    },
    required=["name", "flavorRef"],
)

UPDATE = base.every(
    {
        "server": base.fields(
            {
                "name": _NAME,
                "OS-DCF:diskConfig": _DISK_CONFIG,
                "description": base.since(2, 19, _DESCRIPTION),
                "hostname": _HOSTNAME,
                **_ADDRESSES,
            }
        )
    }
)

REBUILD = base.every(
    {
        "rebuild": base.fields(
            {
                "imageRef": _REFERENCE,
                "name": _NAME,
                "metadata": base.text_map(is_limited=False),
                "adminPass": _PASSWORD,
                "preserve_ephemeral": base.BOOLEAN,
                "OS-DCF:diskConfig": _DISK_CONFIG,
                "personality": base.until(2, 56, _FILES),
                "description": base.since(2, 19, _DESCRIPTION),
                "key_name": base.since(2, 54, base.nullable(base.name())),
                "user_data": base.since(2, 57, _USER_DATA),
                "trusted_image_certificates": base.since(2, 63, _NO_CERTIFICATES),
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

CREATE = base.fields(
    {"server": _SERVER, "os:scheduler_hints": _HINTS, "OS-SCH-HNT:scheduler_hints": _HINTS},
    required=["server"],
)

_FAULT = base.fields(
    {
        "code": base.NUMBER,
        "message": base.STRING,
        "created": base.TIME_OR_NULL,
        "details": base.STRING_OR_NULL,
    },
    required=["code", "message", "created"],
)

_EXTENDED = {
    "reservation_id": base.STRING,
    "launch_index": base.NUMBER,
    "hostname": base.STRING,
    "root_device_name": base.STRING_OR_NULL,
    "kernel_id": base.STRING,
    "ramdisk_id": base.STRING,
    "user_data": base.STRING_OR_NULL,
}
"""Names behind OS-EXT-SRV-ATTR."""

_FOR_ADMINISTRATORS: dict[str, base.Part] = {
    "OS-EXT-SRV-ATTR:host": base.STRING_OR_NULL,
    "OS-EXT-SRV-ATTR:hypervisor_hostname": base.STRING_OR_NULL,
    "OS-EXT-SRV-ATTR:instance_name": base.STRING,
    **{f"OS-EXT-SRV-ATTR:{name}": base.since(2, 3, schema) for name, schema in _EXTENDED.items()},
    "host_status": base.since(2, 16, {"enum": ["UP", "DOWN", "MAINTENANCE", "UNKNOWN", ""]}),
    "armillary:zone": base.STRING,
}

_VOLUME = base.every({"id": base.STRING, "delete_on_termination": base.since(2, 3, base.BOOLEAN)})

_BASIC: dict[str, base.Part] = {
    "id": base.STRING,
    "name": base.STRING,
    "status": base.changed(
        UNKNOWN_SINCE, before={"enum": STATUSES}, after={"enum": [*STATUSES, "UNKNOWN"]}
    ),
    "tenant_id": base.STRING,
    "user_id": base.STRING,
    "hostId": base.STRING,
    "created": base.TIME_OR_NULL,
    "updated": base.TIME_OR_NULL,
    "flavor": base.changed((2, 47), before=base.ENTITY, after=flavor.EMBEDDED),
    "image": {"anyOf": [base.ENTITY, {"const": ""}]},
    "metadata": base.STRING_MAP,
    "addresses": base.OBJECT,
    "accessIPv4": base.STRING,
    "accessIPv6": base.STRING,
    "links": base.LINKS,
    "OS-DCF:diskConfig": base.STRING,
    "locked": base.since(2, 9, base.BOOLEAN),
    "description": base.since(2, 19, base.STRING_OR_NULL),
    "tags": base.since(2, 26, base.STRINGS),
    "server_groups": base.since(2, 71, base.STRINGS),
    "locked_reason": base.since(2, 73, base.STRING_OR_NULL),
}
"""Fields of all answers with a server."""

_SHOWN: dict[str, base.Part] = {
    "OS-EXT-AZ:availability_zone": base.STRING,
    "OS-EXT-STS:vm_state": base.STRING,
    "OS-EXT-STS:task_state": base.STRING_OR_NULL,
    "OS-EXT-STS:power_state": base.NUMBER,
    "OS-SRV-USG:launched_at": base.TIME_OR_NULL,
    "OS-SRV-USG:terminated_at": base.TIME_OR_NULL,
    "config_drive": base.STRING,
    "key_name": base.STRING_OR_NULL,
    "os-extended-volumes:volumes_attached": base.listed(_VOLUME),
    "security_groups": base.listed(base.every({"name": base.STRING})),
    "trusted_image_certificates": base.since(2, 63, {"type": ["array", "null"]}),
    "pinned_availability_zone": base.since(2, 96, base.STRING_OR_NULL),
    "armillary:scheduler_hints": {"type": "object", "additionalProperties": base.STRINGS},
    "armillary:attempt": base.NUMBER,
    "armillary:exit_code": base.NUMBER_OR_NULL,
}
"""Fields of the answers that show servers."""

_SOMETIMES: dict[str, base.Part] = {"progress": base.NUMBER, "fault": _FAULT}
_CHANGED_AT = (2, 75)
"""Since this version answers to changes have the fields of those that show servers."""


def _since_changed(properties: Mapping[str, base.Part]) -> dict[str, base.Part]:
    """Return the fields as answers to changes have them."""
    return {name: Ranged(schema, since=_CHANGED_AT) for name, schema in properties.items()}


_UNKNOWN_STATUS = {"const": "UNKNOWN"}


def _or_unknown(complete: base.Schema, known: Iterable[str]) -> tuple[Ranged, ...]:
    """Return a server, or since ``UNKNOWN_SINCE`` one of which only some fields are known."""
    properties = {**complete["properties"], "status": _UNKNOWN_STATUS}
    either = [complete, base.fields(properties, ["id", "status", "links", *known])]
    return base.changed(
        UNKNOWN_SINCE, complete, {"properties": complete["properties"], "anyOf": either}
    )


SERVER = _or_unknown(
    base.fields({**_BASIC, **_SHOWN, **_FOR_ADMINISTRATORS, **_SOMETIMES}, [*_BASIC, *_SHOWN]),
    ["tenant_id", "user_id", "created", "image", "OS-EXT-AZ:availability_zone"],
)

_BASIC_IN_LISTS: dict[str, base.Part] = {**_BASIC, "server_groups": base.own(base.STRINGS)}
SERVER_IN_LIST = _or_unknown(
    base.fields(
        {**_BASIC_IN_LISTS, **_SHOWN, **_FOR_ADMINISTRATORS, **_SOMETIMES},
        [*_BASIC_IN_LISTS, *_SHOWN],
    ),
    ["tenant_id", "created"],
)

_CHANGED_UNKNOWN = ["tenant_id", "created"]
_CERTIFICATES = "trusted_image_certificates"
UPDATED = _or_unknown(
    base.fields(
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
    base.fields(
        {
            **_BASIC,
            **_since_changed({**_SHOWN, **_FOR_ADMINISTRATORS}),
            **_SOMETIMES,
            "OS-EXT-SRV-ATTR:user_data": base.own(base.STRING_OR_NULL),
            "key_name": base.since(2, 54, base.STRING_OR_NULL),
            "user_data": base.since(2, 57, base.STRING_OR_NULL),
            _CERTIFICATES: _SHOWN[_CERTIFICATES],
            "adminPass": base.STRING,
        },
        _BASIC,
    ),
    _CHANGED_UNKNOWN,
)

SHOW_ANSWER = base.every({"server": SERVER})
UPDATE_ANSWER = base.every({"server": UPDATED})
REBUILD_ANSWER = base.every({"server": REBUILT})

_LIST_EXTRAS = {
    "servers_links": base.LINKS,
    "armillary:partial": base.BOOLEAN,
    "armillary:down_cells": base.STRINGS,
}

_UNKNOWN_IN_INDEX = base.every({"id": base.STRING, "status": _UNKNOWN_STATUS, "links": base.LINKS})
_IN_INDEX = base.changed(UNKNOWN_SINCE, base.NAMED, {"anyOf": [base.NAMED, _UNKNOWN_IN_INDEX]})
INDEX_ANSWER = base.fields(
    {"servers": base.listed(_IN_INDEX), **_LIST_EXTRAS}, required=["servers"]
)
DETAIL_ANSWER = base.fields(
    {"servers": base.listed(SERVER_IN_LIST), **_LIST_EXTRAS}, required=["servers"]
)

_CREATED = base.every(
    {
        "id": base.STRING,
        "links": base.LINKS,
        "OS-DCF:diskConfig": base.STRING,
        "adminPass": base.STRING,
        "security_groups": base.listed(base.every({"name": base.STRING})),
    }
)

CREATE_ANSWER = base.fields(
    {"server": _CREATED, "reservation_id": base.STRING, "armillary:servers": base.STRINGS}
)
