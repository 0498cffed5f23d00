"""Requests for remote consoles."""

from api.schemas.base import STRING, Schema, every, ruled

ACTION_UNTIL = (2, 5)
TYPES = (
    "novnc", "xvpvnc", "spice-html5", "spice-direct", "rdp-html5", "serial", "webmks",
)  # fmt: skip
_TYPE = ruled({"enum": list(TYPES)}, f"It must be one of {', '.join(TYPES)}")
_PROTOCOL = ruled(
    {"enum": ["vnc", "spice", "rdp", "serial", "mks"]},
    "It must be one of vnc, spice, rdp, serial, mks",
)


def action(name: str) -> Schema:
    """Return the body of a protocol's action."""
    return every({name: every({"type": _TYPE})})


ACTION_ANSWER = every({"console": every({"type": STRING, "url": STRING})})
CREATE = every({"remote_console": every({"protocol": _PROTOCOL, "type": _TYPE})})
CREATE_ANSWER = every(
    {"remote_console": every({"protocol": STRING, "type": STRING, "url": STRING})}
)
