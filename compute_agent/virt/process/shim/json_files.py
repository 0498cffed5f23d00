"""Files in the directory of a workload, by which agent and shim tell each other."""

import json
import os
from pathlib import Path

UNCONFIRMED = "unconfirmed"
HELD = "held.json"


def write_json(path: Path, value: object) -> None:
    """Write a file atomically and durably, for the agent's user alone."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    new = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(new, "w", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def read_json(path: Path) -> object:
    """Return the content of a file, None without one."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
