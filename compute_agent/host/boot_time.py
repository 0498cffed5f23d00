"""Time at which the machine of the agent was started."""

import functools
from pathlib import Path

_STATISTICS = Path("/proc/stat")
_FIELD = "btime "


@functools.cache
def booted_at() -> int:
    """Return the time in seconds since the epoch; 0 where the kernel does not tell."""
    try:
        lines = _STATISTICS.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.removeprefix(_FIELD)) for line in lines if line.startswith(_FIELD)), 0)
