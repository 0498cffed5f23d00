"""Bodies of the actions on a server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from api.schemas.base import (
    BOOLEAN,
    HOST,
    KEY_PATTERN,
    STRING,
    TEXT_MAX,
    ZONE,
    Part,
    Schema,
    changed,
    every,
    fields,
    integer,
    name,
    nullable,
    ruled,
    since,
    text,
    until,
)
from armillary.http.ranges import Ranged

CONSOLE_LINES_MAX = 100_000
PASSWORD_OF_EVACUATION_UNTIL = (2, 13)
"""The last version whose answer to an evacuation has a password, and no empty body."""

_REFERENCE = text(maximum=2048, minimum=1)
_NOTHING: Schema = {"type": ["null", "object", "string"], "maxProperties": 0, "maxLength": 0}
_FLAVOR_REFERENCE: Schema = {**_REFERENCE, "type": ["string", "integer"]}
_HOST_OR_NULL = nullable(HOST)


def nothing(action: str) -> Schema:
    """Return the body of an action without parameters."""
    return every({action: _NOTHING})


def _perhaps(action: str, properties: Mapping[str, Part], required: Iterable[str] = ()) -> Schema:
    """Return the body of an action, which may be null."""
    return every({action: nullable(fields(properties, required))})


REBOOT = every(
    {
        "reboot": every(
            {
                "type": ruled(
                    {"type": "string", "pattern": "^([Ss]oft|SOFT|[Hh]ard|HARD)$"},
                    "The type must be 'SOFT' or 'HARD'",
                )
            }
        )
    }
)
LOCK = _perhaps("lock", {"locked_reason": since(2, 73, text(TEXT_MAX, minimum=1))})
RESIZE = every({"resize": fields({"flavorRef": _FLAVOR_REFERENCE, "OS-DCF:diskConfig": STRING},
                                 required=["flavorRef"])})  # fmt: skip
MIGRATE = _perhaps("migrate", {"host": since(2, 56, _HOST_OR_NULL)})
_NO_FORCE = Ranged(
    ruled(
        {"type": "boolean", "const": False},
        "Every host is checked by the scheduler: only false is allowed",
    ),
    since=(2, 30),
    until=(2, 67),
)
_NO_OVERCOMMIT = ruled(
    {"type": "boolean", "const": False},
    "Placement decides about the overcommitment of disks: only false is allowed",
)
_BOOLEAN_OR_AUTO: Schema = {"type": ["boolean", "string"], "enum": [True, False, "auto"]}
OVERCOMMIT_UNTIL = (2, 24)
LIVE_MIGRATE_REQUIRED = ("host", "block_migration")
"""Fields that other clients than our own have to send; until 2.24 ``disk_over_commit``, too."""
LIVE_MIGRATE = _perhaps(
    "os-migrateLive",
    {
        "host": _HOST_OR_NULL,
        "block_migration": changed((2, 25), before=BOOLEAN, after=_BOOLEAN_OR_AUTO),
        "disk_over_commit": until(*OVERCOMMIT_UNTIL, _NO_OVERCOMMIT),
        "force": _NO_FORCE,
    },
)
EVACUATE = _perhaps(
    "evacuate",
    {
        "host": _HOST_OR_NULL,
        "onSharedStorage": until(*PASSWORD_OF_EVACUATION_UNTIL, BOOLEAN),
        "adminPass": STRING,
        "force": replace(_NO_FORCE, since=(2, 29)),
    },
    required=["onSharedStorage"],
)
EVACUATE_ANSWER = nullable(fields({"adminPass": until(*PASSWORD_OF_EVACUATION_UNTIL, STRING)}))
ZONE_OF_UNSHELVE_SINCE = (2, 77)
_UNSHELVE_ZONE = (Ranged(nullable(ZONE), since=(2, 91)), Ranged(ZONE, since=(2, 77)))
_UNSHELVE_PLACE: dict[str, Part] = {"availability_zone": _UNSHELVE_ZONE, "host": since(2, 91, HOST)}
UNSHELVE = every(
    {
        "unshelve": changed(
            ZONE_OF_UNSHELVE_SINCE,
            before={"type": ["object", "null", "string"]},
            after=nullable(fields(_UNSHELVE_PLACE)),
        )
    }
)
"""Earlier versions ignore a zone: Terraform's provider sends it to all."""
_IMAGE_METADATA = {
    "type": "object",
    "propertyNames": name(pattern=KEY_PATTERN),
    "additionalProperties": text(),
}
ROTATION_MAX = 1000
CREATE_IMAGE = every(
    {"createImage": fields({"name": name(), "metadata": _IMAGE_METADATA}, required=["name"])}
)
CREATE_BACKUP = every(
    {
        "createBackup": fields(
            {
                "name": name(),
                "backup_type": text(minimum=0),
                "rotation": {
                    "type": ["integer", "string"],
                    "minimum": 0,
                    "maximum": ROTATION_MAX,
                    "pattern": r"^\d{1,3}$",
                },
                "metadata": _IMAGE_METADATA,
            },
            required=["name", "backup_type", "rotation"],
        )
    }
)
CREATED_IMAGE_ANSWER = nullable(fields({"image_id": since(2, 45, STRING)}))
RESCUE = _perhaps("rescue", {"adminPass": text(minimum=1), "rescue_image_ref": _REFERENCE})
RESCUE_ANSWER = every({"adminPass": STRING})
RESET_STATE = every({"os-resetState": every({"state": {"enum": ["active", "error"]}})})
CHANGE_PASSWORD = every({"changePassword": every({"adminPass": text()})})
ALL_LINES = -1
CONSOLE_OUTPUT = _perhaps(
    "os-getConsoleOutput",
    {"length": nullable(integer(minimum=ALL_LINES, maximum=CONSOLE_LINES_MAX))},
)
CONSOLE_OUTPUT_ANSWER = every({"output": STRING})
