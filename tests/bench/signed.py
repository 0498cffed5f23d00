"""The keys of a deployment that is measured with all its messages signed, beside one without."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from oslo_config import cfg

from rpc.signing.trust import SERVICES
from tests.fixtures.signing import Authority


@dataclass(frozen=True)
class Enrolled:
    """One process as its configuration has it."""

    options: dict[str, str]

    def section(self) -> str:
        """Return the section of a configuration file."""
        return "\n".join(["[signing]", *(f"{k} = {v}" for k, v in self.options.items()), ""])

    def set_on(self, conf: cfg.ConfigOpts) -> None:
        """Set the options of a configuration without files."""
        for name, value in self.options.items():
            conf.set_override(name, [value] if name == "root_keys" else value, group="signing")


class Signing:
    """Keys under a folder; without ``is_on`` no process signs."""

    def __init__(self, folder: Path, *, is_on: bool) -> None:
        self._authority = Authority(folder / "authority") if is_on else None
        self._enrolled: dict[str, Enrolled] = {}

    def enrol(self, role: str, *, name: str | None = None, scope: str | None = None) -> None:
        """Give a process a key; all have theirs before the first one starts."""
        name = name or role
        if self._authority is None:
            self._enrolled[name] = Enrolled({"mode": "off"})
            return
        self._authority.enrol(role, name=name, scope=scope)
        self._enrolled[name] = Enrolled(
            {
                "mode": "required",
                "key_file": str(self._authority.key_path(name)),
                "trust_file": str(self._authority.path(SERVICES)),
                "root_keys": self._authority.root.public.text,
            }
        )

    def of(self, name: str) -> Enrolled:
        """Return what a process is told."""
        return self._enrolled[name]
