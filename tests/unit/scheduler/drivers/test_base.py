"""The driver is the one that is configured."""

import random
import time
from datetime import UTC, datetime

import pytest
from oslo_config import cfg

from armillary import exception
from scheduler.drivers.base import SchedulerDriver, load_driver
from scheduler.drivers.filter_scheduler import FilterScheduler
from tests.fleets import ArrayPlacement, a_fleet, scheduling_conf


def loaded(conf: cfg.ConfigOpts) -> SchedulerDriver:
    return load_driver(
        conf,
        host_store=a_fleet([]),
        placement=ArrayPlacement([]),  # type: ignore[arg-type]
        rng=random.Random(1),
        clock=time.perf_counter,
        now=lambda: datetime.now(UTC),
    )


def test_the_filter_scheduler_is_the_default() -> None:
    """It decides on allocation candidates."""
    driver = loaded(scheduling_conf())
    assert isinstance(driver, FilterScheduler)
    assert driver.uses_allocation_candidates


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scheduler__driver": "lucky"}, r"\[scheduler\] driver names the plugin 'lucky'"),
        (
            {"filter_scheduler__enabled_filters": ["NoFilter"]},
            r"\[filter_scheduler\] enabled_filters names the plugin 'NoFilter'",
        ),
        (
            {"filter_scheduler__weight_classes": ["NoWeigher"]},
            r"\[filter_scheduler\] weight_classes names the plugin 'NoWeigher'.*RAMWeigher",
        ),
        (
            {"scheduler__request_filters": ["none"]},
            r"\[scheduler\] request_filters names the plugin 'none'.*disabled_hosts,.*tenant",
        ),
    ],
    ids=str,
)
def test_an_unknown_plugin_of_any_kind_stops_the_start(
    options: dict[str, object], message: str
) -> None:
    """With the option that names it."""
    with pytest.raises(exception.PluginNotFound, match=message):
        loaded(scheduling_conf(**options))
