"""Schemas of the image service's requests, and those that it publishes."""

from api.schemas.base import (
    ANY,
    BOOLEAN,
    MAP_SIZE_MAX,
    STRING,
    Schema,
    fields,
    integer,
    name,
    nullable,
    text,
)
from api.schemas.images.image import PROPERTY_CHARACTERS_MAX
from objects.images.image_record import ACCEPTED, PENDING, REJECTED, STATUSES, VISIBILITIES

DISK_FORMATS = (
    "ami", "ari", "aki", "vhd", "vhdx", "vmdk", "raw", "qcow2", "vdi", "iso", "ploop",
)  # fmt: skip
CONTAINER_FORMATS = ("ami", "ari", "aki", "bare", "ovf", "ova", "docker", "compressed")
TAGS_MAX = 128
CHANGES_MAX = 512
MEMBERS_MAX = 1000

TAG = text(minimum=1)
PROJECT = name()
PROPERTY = text(PROPERTY_CHARACTERS_MAX)

SETTABLE: dict[str, Schema] = {
    "name": nullable(text()),
    "visibility": {"type": "string", "enum": list(VISIBILITIES)},
    "protected": BOOLEAN,
    "os_hidden": BOOLEAN,
    "owner": nullable(text()),
    "disk_format": {"type": ["string", "null"], "enum": [None, *DISK_FORMATS]},
    "container_format": {"type": ["string", "null"], "enum": [None, *CONTAINER_FORMATS]},
    "min_disk": integer(),
    "min_ram": integer(),
    "tags": {"type": "array", "items": TAG, "maxItems": TAGS_MAX},
}
"""Fields that clients set, beside properties."""

READ_ONLY: dict[str, Schema] = {
    "status": {"type": "string", "enum": list(STATUSES)},
    "size": {"type": ["integer", "null"]},
    "virtual_size": {"type": ["integer", "null"]},
    "checksum": {"type": ["string", "null"]},
    "os_hash_algo": {"type": ["string", "null"]},
    "os_hash_value": {"type": ["string", "null"]},
    "created_at": STRING,
    "updated_at": STRING,
    "self": STRING,
    "file": STRING,
    "schema": STRING,
    "direct_url": STRING,
    "locations": {"type": "array"},
    "stores": STRING,
}
ID: Schema = {"type": "string", "format": "uuid"}

CREATE: Schema = {
    "type": "object",
    "properties": {"id": ID, **SETTABLE},
    "maxProperties": MAP_SIZE_MAX + len(SETTABLE) + 1,
    "propertyNames": text(minimum=1),
    "additionalProperties": PROPERTY,
}

OPERATIONS = ("add", "replace", "remove")
_POINTER = text(1024, minimum=2)
PATCH: Schema = {
    "type": "array",
    "maxItems": CHANGES_MAX,
    "items": {
        "type": "object",
        "properties": {
            "op": {"type": "string", "enum": list(OPERATIONS)},
            "path": _POINTER,
            "value": ANY,
            **dict.fromkeys(OPERATIONS, _POINTER),
        },
        "anyOf": [{"required": ["op", "path"]}, *({"required": [name]} for name in OPERATIONS)],
    },
}
"""Changes as JSON patches, or in the form of version 2.0: ``{"add": "/name", "value": "x"}``."""
VALUES: Schema = {
    "type": "object",
    "properties": SETTABLE,
    "maxProperties": MAP_SIZE_MAX + len(SETTABLE),
    "additionalProperties": PROPERTY,
}
"""All that clients may set, as it is after a patch."""

ADD_MEMBER = fields({"member": PROJECT}, required=["member"])
ANSWER = fields(
    {
        "status": {"type": "string", "enum": [PENDING, ACCEPTED, REJECTED]},
        "member": PROJECT,  # clients send it, and mean the one of the path
    },
    required=["status"],
)

ANY_QUERY: Schema = {
    "type": "object",
    "properties": {
        "limit": integer(),
        "size_min": integer(maximum=2**63 - 1),
        "size_max": integer(maximum=2**63 - 1),
    },
}

_IMAGE: Schema = {
    "name": "image",
    "properties": {
        "id": ID,
        **SETTABLE,
        **{key: {**schema, "readOnly": True} for key, schema in READ_ONLY.items()},
    },
    "additionalProperties": STRING,
    "links": [{"rel": "self", "href": "{self}"}, {"rel": "enclosure", "href": "{file}"}],
}
_MEMBER: Schema = {
    "name": "member",
    "properties": dict.fromkeys(
        ("member_id", "image_id", "status", "created_at", "updated_at", "schema"), STRING
    ),
}


def _list_of(item: Schema, plural: str) -> Schema:
    return {
        "name": plural,
        "properties": {plural: {"type": "array", "items": item}, "schema": STRING},
        "links": [{"rel": "describedby", "href": "{schema}"}],
    }


PUBLISHED: dict[str, Schema] = {
    "image": _IMAGE,
    "images": _list_of(_IMAGE, "images"),
    "member": _MEMBER,
    "members": _list_of(_MEMBER, "members"),
}
