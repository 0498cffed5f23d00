"""The scheduler's program starts only where there is a queue for it."""

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


@pytest.mark.parametrize(
    ("driver", "own", "common", "count"),
    [
        ("filter_scheduler", None, None, None),
        ("zone_scheduler", 4, 2, 4),
        ("caching_scheduler", None, None, 1),
        ("caching_scheduler", None, 2, 2),
        ("chance_scheduler", 3, 2, 3),
    ],
)
def test_drivers_that_claim_nothing_have_one_process(
    driver: str, own: int | None, common: int | None, count: int | None
) -> None:
    """Unless an option says otherwise; the others have the default of all services."""
    conf = scheduling_conf(scheduler__driver=driver, scheduler__workers=own)
    conf.set_override("workers", common)
    assert scheduler.workers(conf) == count
