"""Whether all that filters and weighers rely on is known of hosts: asked when they are made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from armillary import exception
from scheduler.host_state import READABLE


class UsesAttributes(Protocol):
    """A plugin that says which host attributes it reads."""

    @property
    def host_attributes(self) -> tuple[str, ...]: ...


def check(plugins: Iterable[UsesAttributes], option: str) -> None:
    """Raise ``ConfigurationError`` with the names that nobody defines, and who uses them."""
    missing = [
        f"{type(each).__name__} uses {', '.join(unknown)}"
        for each in plugins
        if (unknown := [name for name in each.host_attributes if name not in READABLE])
    ]
    if missing:
        raise exception.ConfigurationError(
            reason=f"{option}: {'; '.join(missing)}: no such host attribute is declared in "
            "objects.host_attributes, so no agent reports it"
        )
