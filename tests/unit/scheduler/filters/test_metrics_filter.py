"""Hosts that report what is to be weighed."""

from typing import Any

import pytest

from scheduler.filters.metrics_filter import MetricsFilter
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf

IDLE = {"name": "cpu.percent", "value": 0.1}
FAST = {"name": "cpu.frequency", "value": 3000}


@pytest.mark.parametrize(
    ("setting", "metrics", "passes"),
    [
        ([], [], True),
        (["cpu.percent=1"], [IDLE], True),
        (["cpu.percent=1"], [FAST], False),
        (["cpu.percent=1", "cpu.frequency=2"], [IDLE], False),
        (["cpu.percent=1", "cpu.frequency=2"], [FAST, IDLE], True),
        (["cpu.percent=1"], [{"name": "cpu.percent", "value": None}], False),
        (["cpu.percent", "=1", "cpu.frequency=fast"], [], True),  # nothing that can be read
        (["cpu.percent=1"], None, False),
    ],
)
def test_a_host_has_to_report_every_metric(setting: list[str], metrics: Any, passes: bool) -> None:
    """Of those that the option names."""
    state = a_table([a_host(metrics=metrics)])[0]
    conf = scheduling_conf(metrics__weight_setting=setting)
    assert MetricsFilter(conf).host_passes(state, a_request_spec()) is passes


def test_the_reason_names_what_is_missing() -> None:
    """In the order of the alphabet."""
    conf = scheduling_conf(metrics__weight_setting=["x=1", "cpu.percent=1", "a=1"])
    state = a_table([a_host(metrics=[IDLE])])[0]
    assert MetricsFilter(conf).explain(state, a_request_spec()) == "does not report a, x"
