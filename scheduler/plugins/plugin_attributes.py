"""Startup check that all host attributes read by plugins are declared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from armillary import exception
from scheduler.hosts.host_state import READABLE


class UsesAttributes(Protocol):
    """A plugin that declares the host attributes it reads."""

    @property
    def host_attributes(self) -> tuple[str, ...]: ...


def check(plugins: Iterable[UsesAttributes], option: str) -> None:
    """Raise ``ConfigurationError`` with undeclared attributes and the plugins that read them."""
    missing = [
        f"{type(each).__name__} uses {', '.join(unknown)}"
        for each in plugins
        if (unknown := [name for name in each.host_attributes if name not in READABLE])
    ]
    if missing:
        raise exception.ConfigurationError(
            reason=f"{option}: {'; '.join(missing)}, but objects.hosts.host_attributes does not "
            "declare this, so no agent reports it"
        )
