"""Specification of a workload for its shim: the contents of ``guest.json``."""

import json
import os
import pwd
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from compute_agent.virt.process.shim.json_files import write_json


class Restart(NamedTuple):
    """A restart policy: on-failure or always, and seconds.

    A non-zero exit within ``settle_seconds`` is a failed start.
    """

    policy: str
    delay_seconds: float
    delay_seconds_max: float
    settle_seconds: float


class ProcessSpec(NamedTuple):
    """Contents of ``guest.json``: what the shim runs, and how."""

    argv: list[str]
    environment: dict[str, str]
    cgroup: str | None
    rlimits: dict[str, int]
    """Name in the module ``resource`` -> value, for the soft and the hard limit."""
    cpus: list[int] | None
    """CPUs that it may use; None means all."""
    user: str | None
    """Name of its user; None means ``uid``, or the agent's own."""
    stop_grace_seconds: float
    console_max_bytes: int
    home: str = ""
    """Its working directory; set when the specification is stored."""
    place: Mapping[str, Any] | None = None
    """Placement on the host, for an agent that lost its journal."""
    restart: Restart | None = None
    """None means never."""
    uid: int | None = None
    """A user without a name; its group has the same number."""
    namespaces: Mapping[str, Any] | None = None
    """Fields of ``process_namespaces.Namespaces``."""
    lease: str | None = None
    """File of the lease that it runs under; None means that it may run for ever."""
    disk_bytes_max: int | None = None
    """What its files may take, home and temporary ones together; None means no limit."""
    temporary: str | None = None
    """Its own directory for temporary files, if it has one."""


def read_spec(directory: Path) -> ProcessSpec | None:
    """Return the stored specification of a workload, or None if there is none."""
    try:
        content = json.loads((directory / "guest.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    values = {name: content[name] for name in ProcessSpec._fields if name in content}
    restart = values.get("restart")
    return ProcessSpec(**{**values, "restart": Restart(**restart) if restart else None})


def write_spec(directory: Path, spec: ProcessSpec) -> None:
    """Store a specification. Raises OSError."""
    restart = None if spec.restart is None else spec.restart._asdict()
    write_json(directory / "guest.json", {**spec._asdict(), "restart": restart})


def user_of(spec: ProcessSpec) -> int:
    """Return the id of the user that a workload runs as."""
    if spec.uid is not None:
        return spec.uid
    return os.geteuid() if spec.user is None else pwd.getpwnam(spec.user).pw_uid
