"""Bodies of the actions on a server."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from api.schemas import base
from armillary.http.ranges import Ranged

CONSOLE_LINES_MAX = 100_000
PASSWORD_OF_EVACUATION_UNTIL = (2, 13)
"""The last version whose answer to an evacuation has a password, and no empty body."""

_REFERENCE = base.text(maximum=2048, minimum=1)
_NOTHING: base.Schema = {"type": ["null", "object", "string"], "maxProperties": 0, "maxLength": 0}
_FLAVOR_REFERENCE: base.Schema = {**_REFERENCE, "type": ["string", "integer"]}
_HOST_OR_NULL = base.nullable(base.HOST)


def nothing(action: str) -> base.Schema:
    """Return the body of an action without parameters."""
    return base.every({action: _NOTHING})


def _perhaps(
    action: str, properties: Mapping[str, base.Part], required: Iterable[str] = ()
) -> base.Schema:
    """Return the body of an action, which may be null."""
    return base.every({action: base.nullable(base.fields(properties, required))})


REBOOT = base.every(
    {
        "reboot": base.every(
            {
                "type": base.ruled(
                    {"type": "string", "pattern": "^([Ss]oft|SOFT|[Hh]ard|HARD)$"},
                    "The type must be 'SOFT' or 'HARD'",
                )
            }
        )
    }
)
LOCK = _perhaps("lock", {"locked_reason": base.since(2, 73, base.text(base.TEXT_MAX, minimum=1))})
RESIZE = base.every(
    {
        "resize": base.fields(
            {"flavorRef": _FLAVOR_REFERENCE, "OS-DCF:diskConfig": base.STRING},
            required=["flavorRef"],
        )
    }
)
MIGRATE = _perhaps("migrate", {"host": base.since(2, 56, _HOST_OR_NULL)})
_NO_FORCE = Ranged(
    base.ruled(
        {"type": "boolean", "const": False},
        "Every host is checked by the scheduler: only false is allowed",
    ),
    since=(2, 30),
    until=(2, 67),
)
_NO_OVERCOMMIT = base.ruled(
    {"type": "boolean", "const": False},
    "Placement decides about the overcommitment of disks: only false is allowed",
)
_BOOLEAN_OR_AUTO: base.Schema = {"type": ["boolean", "string"], "enum": [True, False, "auto"]}
OVERCOMMIT_UNTIL = (2, 24)
LIVE_MIGRATE_REQUIRED = ("host", "block_migration")
"""Fields required of all clients but our own; until 2.24 ``disk_over_commit``, too."""
LIVE_MIGRATE = _perhaps(
    "os-migrateLive",
    {
        "host": _HOST_OR_NULL,
        "block_migration": base.changed((2, 25), before=base.BOOLEAN, after=_BOOLEAN_OR_AUTO),
        "disk_over_commit": base.until(*OVERCOMMIT_UNTIL, _NO_OVERCOMMIT),
        "force": _NO_FORCE,
    },
)
EVACUATE = _perhaps(
    "evacuate",
    {
        "host": _HOST_OR_NULL,
        "onSharedStorage": base.until(*PASSWORD_OF_EVACUATION_UNTIL, base.BOOLEAN),
        "adminPass": base.STRING,
        "force": replace(_NO_FORCE, since=(2, 29)),
    },
    required=["onSharedStorage"],
)
EVACUATE_ANSWER = base.nullable(
    base.fields({"adminPass": base.until(*PASSWORD_OF_EVACUATION_UNTIL, base.STRING)})
)
ZONE_OF_UNSHELVE_SINCE = (2, 77)
_UNSHELVE_ZONE = (Ranged(base.nullable(base.ZONE), since=(2, 91)), Ranged(base.ZONE, since=(2, 77)))
_UNSHELVE_PLACE: dict[str, base.Part] = {
    "availability_zone": _UNSHELVE_ZONE,
    "host": base.since(2, 91, base.HOST),
}
UNSHELVE = base.every(
    {
        "unshelve": base.changed(
            ZONE_OF_UNSHELVE_SINCE,
            before={"type": ["object", "null", "string"]},
            after=base.nullable(base.fields(_UNSHELVE_PLACE)),
        )
    }
)
"""Earlier versions ignore a zone: Terraform's provider sends it to all."""
_IMAGE_METADATA = {
    "type": "object",
    "propertyNames": base.name(pattern=base.KEY_PATTERN),
    "additionalProperties": base.text(),
}
ROTATION_MAX = 1000
CREATE_IMAGE = base.every(
    {
        "createImage": base.fields(
            {"name": base.name(), "metadata": _IMAGE_METADATA}, required=["name"]
        )
    }
)
CREATE_BACKUP = base.every(
    {
        "createBackup": base.fields(
            {
                "name": base.name(),
                "backup_type": base.text(minimum=0),
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
CREATED_IMAGE_ANSWER = base.nullable(base.fields({"image_id": base.since(2, 45, base.STRING)}))
RESCUE = _perhaps("rescue", {"adminPass": base.text(minimum=1), "rescue_image_ref": _REFERENCE})
RESCUE_ANSWER = base.every({"adminPass": base.STRING})
RESET_STATE = base.every({"os-resetState": base.every({"state": {"enum": ["active", "error"]}})})
CHANGE_PASSWORD = base.every({"changePassword": base.every({"adminPass": base.text()})})
ALL_LINES = -1
CONSOLE_OUTPUT = _perhaps(
    "os-getConsoleOutput",
    {"length": base.nullable(base.integer(minimum=ALL_LINES, maximum=CONSOLE_LINES_MAX))},
)
CONSOLE_OUTPUT_ANSWER = base.every({"output": base.STRING})
