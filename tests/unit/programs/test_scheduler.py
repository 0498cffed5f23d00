"""The scheduler's program starts only where there is a queue for it."""

from __future__ import annotations

from typing import NoReturn

import pytest

from armillary import exception
from programs import scheduler
from tests.fleets import scheduling_conf


def test_it_does_not_start_where_conductors_decide_by_themselves() -> None:
    """BZ-02: no process would ever ask it."""

    def no_bus(url: str, scope: str) -> NoReturn:
        pytest.fail("nothing is connected")

    conf = scheduling_conf(scheduler__in_process=True)
    with pytest.raises(
        exception.ConfigurationError, match="super conductor runs its own scheduler"
    ):
        scheduler._make(conf, "kombu+memory:////x", no_bus)
