"""External events."""

from __future__ import annotations

from api.schemas.base import NUMBER, STRING, UUID, every, fields, listed, ruled, text

EVENTS_MAX = 1000
NAMES = [
    "network-changed",
    "network-vif-plugged",
    "network-vif-unplugged",
    "network-vif-deleted",
    "volume-extended",
    "power-update",
    "accelerator-request-bound",
    "volume-reimaged",
]
_EVENT = fields(
    {
        "name": ruled({"enum": NAMES}, f"It must be one of {', '.join(NAMES)}"),
        "server_uuid": UUID,
        "status": ruled(
            {"enum": ["failed", "completed", "in-progress"]},
            "It must be failed, completed or in-progress",
        ),
        "tag": text(),
    },
    required=["name", "server_uuid"],
)
CREATE = every({"events": {**listed(_EVENT), "minItems": 1, "maxItems": EVENTS_MAX}})

_ANSWERED = fields(
    {"name": STRING, "server_uuid": STRING, "tag": STRING, "status": STRING, "code": NUMBER},
    required=["name", "server_uuid", "status", "code"],
)
CREATE_ANSWER = every({"events": listed(_ANSWERED)})
