"""Simulated console output: some lines for each event."""

from __future__ import annotations

import random
from collections.abc import Iterator

from compute_agent.virt.simulated.simulated_guest import Event, SimulatedGuest

_BOOT_STEPS = (
    "clock and {size}",
    "disk found, file system clean",
    "network up",
    "ready; nothing runs in a simulated guest",
)
_STEP_SECONDS_MAX = 1.5
_SENTENCES = {
    Event.OFF: "shutting down; power off",
    Event.ARRIVED: "running on {host} after a live migration",
    Event.RESIZED: "now {size}",
}


def lines(host: str, guest: SimulatedGuest) -> list[str]:
    """Return all lines that are kept, oldest first; the same ones each time."""
    found: list[str] = []
    for at, event, size in guest.events:
        if event is Event.BOOT:
            found += _boot_lines(at, guest.uuid, size)
        else:
            found.append(f"{at} {_SENTENCES[event].format(host=host, size=size)}")
    return found


def _boot_lines(at: str, uuid: str, size: str) -> Iterator[str]:
    """Yield the lines of a boot, with seconds since its start."""
    yield f"{at} booting simulated guest {uuid}"
    rng = random.Random(f"{at}/{uuid}")  # noqa: S311 - to look alive
    seconds = 0.0
    for step in _BOOT_STEPS:
        yield f"[{seconds:12.6f}] {step.format(size=size)}"
        seconds += rng.uniform(0.0, _STEP_SECONDS_MAX)
