"""Live migrations that are forced to complete, as libvirt reports and accepts it."""

from types import SimpleNamespace
from typing import Any

import pytest

from compute_agent.virt.libvirt.moves.completion_limit import CompletionLimit
from compute_agent.virt.libvirt.moves.live_moves import _Move

UNBOUNDED, COPYING = 1, {"type": 2, "memory_total": 2**20, "memory_remaining": 2**19}
PREPARING = {"type": UNBOUNDED, "time_elapsed": 10}


class Refused(Exception):
    """What libvirt's library raises."""


class Domain:
    """A domain whose migration is at one step after the other."""

    def __init__(self, steps: list[dict[str, Any]], refusals: int = 0) -> None:
        self._steps = steps
        self._refusals = refusals
        self.orders: list[str] = []

    def UUIDString(self) -> str:  # noqa: N802 - libvirt's name
        return "a-guest"

    def jobStats(self) -> dict[str, Any]:  # noqa: N802 - libvirt's name
        return self._steps.pop(0) if self._steps else {"type": 0}

    def isActive(self) -> bool:  # noqa: N802 - libvirt's name
        return False

    def suspend(self) -> None:
        self._order("suspend")

    def migrateStartPostCopy(self) -> None:  # noqa: N802 - libvirt's name
        self._order("post-copy")

    def _order(self, order: str) -> None:
        if self._refusals:
            self._refusals -= 1
            raise Refused("not yet")
        self.orders.append(f"{order}, {len(self._steps)} left")


WATCH: Any = SimpleNamespace(
    progress=lambda **_amounts: None, is_aborted=lambda: False, is_forced=lambda: True
)


@pytest.mark.parametrize(
    ("steps", "refusals", "has_post_copy", "expected"),
    [
        ([COPYING, COPYING], 0, False, ["suspend, 1 left"]),
        ([PREPARING, PREPARING, COPYING, COPYING], 0, False, ["suspend, 1 left"]),
        ([COPYING, COPYING, COPYING], 2, True, ["post-copy, 0 left"]),
    ],
    ids=["copies", "begins later", "refused at first"],
)
def test_a_migration_is_forced_once_it_copies(
    monkeypatch: pytest.MonkeyPatch,
    steps: list[dict[str, Any]],
    refusals: int,
    has_post_copy: bool,
    expected: list[str],
) -> None:
    """Not before, and until libvirt accepts it; then once."""
    monkeypatch.setattr("compute_agent.virt.libvirt.moves.live_moves.POLL_SECONDS", 0)
    library = SimpleNamespace(libvirtError=Refused, VIR_DOMAIN_JOB_NONE=0)
    domain = Domain(list(steps), refusals)
    limit = CompletionLimit(None, "abort", permits_post_copy=has_post_copy)
    _Move(library, domain, limit).join(WATCH)
    assert domain.orders == expected
