"""External events."""

from api.schemas.base import NUMBER, STRING, UUID, Schema, every, fields, listed, ruled, text
from armillary.http.microversion import BEGINNING, Version
from armillary.http.ranges import Ranged

EVENTS_MAX = 1000
_OF_NETWORKS = (
    "network-changed", "network-vif-plugged", "network-vif-unplugged", "network-vif-deleted",
)  # fmt: skip
_LATER = {
    (2, 51): "volume-extended",
    (2, 76): "power-update",
    (2, 82): "accelerator-request-bound",
    (2, 93): "volume-reimaged",
}
"""Other events, by the first version that has them."""


def _named(version: Version) -> Schema:
    """Return the names of the events that a version has."""
    names = [*_OF_NETWORKS, *(name for since, name in _LATER.items() if since <= version)]
    return ruled({"enum": names}, f"It must be one of {', '.join(names)}")


_NAME = (
    *(Ranged(_named(version), since=version) for version in reversed(_LATER)),
    Ranged(_named(BEGINNING)),
)
_EVENT = fields(
    {
        "name": _NAME,
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
