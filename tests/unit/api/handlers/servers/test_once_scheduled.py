"""Changes of servers that are being scheduled: how long they are tried."""

from __future__ import annotations

import pytest

from api.handlers.servers.once_scheduled import WAIT_SECONDS_MAX, once_scheduled
from armillary import exception


class Clock:
    """A clock that sleeping sets forward."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def refuse() -> None:
    raise exception.InstanceBeingScheduled(instance_uuid="a", operation="update")


def test_it_is_refused_when_scheduling_takes_too_long() -> None:
    """With the reason."""
    clock = Clock()
    with pytest.raises(exception.InstanceBeingScheduled, match="it is being scheduled"):
        once_scheduled(refuse, sleep=clock.sleep, clock=lambda: clock.now)
    assert WAIT_SECONDS_MAX <= clock.now < WAIT_SECONDS_MAX + 1


def test_what_else_refuses_it_is_not_waited_for() -> None:
    """That does not go by itself."""
    clock = Clock()

    def change() -> None:
        raise exception.InstanceInvalidState(instance_uuid="a", operation="update", reason="x")

    with pytest.raises(exception.InstanceInvalidState):
        once_scheduled(change, sleep=clock.sleep, clock=lambda: clock.now)
    assert clock.now == 0
