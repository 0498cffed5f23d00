"""Power states of guests as the Compute API numbers them."""

POWER_STATES = {"running": 1, "paused": 3, "shutdown": 4, "suspended": 4, "crashed": 6}
NO_POWER_STATE = 0
STATES_BY_POWER = {"running": "active", "paused": "paused", "suspended": "suspended"}
"""State of an instance by the power state of its guest, when that is on."""


def number_of(power_state: str | None) -> int:
    """Return the number of a power state; ``NO_POWER_STATE`` if it is not known."""
    return POWER_STATES.get(power_state or "", NO_POWER_STATE)
