"""Monitors: which are loaded, what they report, and what becomes of one that fails."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from armillary import exception
from compute_agent.monitors import HostMonitors, Metric, Monitor, MonitorPlugin, load_plugins
from compute_agent.monitors.virt_driver import CPUVirtDriver
from compute_agent.virt.driver import ComputeDriver, Readings
from compute_agent.virt.metrics import ALL_METRICS, METRICS, Kind
from compute_agent.virt.simulated.simulated_driver import SimulatedDriver
from tests.fixtures.agent import agent_conf

AT = datetime(2030, 1, 31, tzinfo=UTC)
SIZE = "vcpus=1:memory_mb=1:disk_gb=1"


@pytest.fixture
def conf(tmp_path: Path) -> cfg.ConfigOpts:
    """Return the configuration of an agent."""
    return agent_conf(tmp_path)


def a_driver(conf: cfg.ConfigOpts, declared: str = SIZE) -> ComputeDriver:
    conf.set_override("hosts", [f"name=sim-1:{declared}"], group="simulated")
    return SimulatedDriver.make_hosts(conf, Path(conf.state_path))[0]


def a_plugin(name: str, measure: Callable[[], Readings | None]) -> MonitorPlugin:
    class Measuring(Monitor):
        def measure(self) -> Readings | None:
            return measure()

    return MonitorPlugin(name, Measuring)


def fail() -> Readings | None:
    raise OSError("no such counter")


def test_none_is_loaded_unless_it_is_named(conf: cfg.ConfigOpts) -> None:
    """Measuring costs something, and changes the record each time."""
    assert load_plugins(conf) == []
    assert HostMonitors(conf, [], a_driver(conf)).metrics() == []


def test_a_monitor_is_loaded_by_name(conf: cfg.ConfigOpts) -> None:
    """Named twice it is there once."""
    conf.set_override("compute_monitors", ["cpu.virt_driver", "cpu.virt_driver"])
    assert load_plugins(conf) == [MonitorPlugin("cpu.virt_driver", CPUVirtDriver)]


def test_a_name_that_is_not_there_is_told(conf: cfg.ConfigOpts) -> None:
    """With the option and what there is."""
    conf.set_override("compute_monitors", ["cpu.magic"])
    with pytest.raises(exception.PluginNotFound, match="compute_monitors") as caught:
        load_plugins(conf)
    assert "cpu.virt_driver" in str(caught.value)


def test_one_of_a_kind_is_enough(conf: cfg.ConfigOpts) -> None:
    """Two would report the same metrics."""
    conf.set_override("compute_monitors", ["cpu.virt_driver", "cpu.mine"])
    with pytest.raises(exception.ConfigurationError, match="several monitors of one kind: cpu"):
        load_plugins(conf)


def test_metrics_travel_with_time_and_source(conf: cfg.ConfigOpts) -> None:
    plugin = a_plugin("cpu.mine", lambda: Readings({"cpu.percent": 0.5}, AT))
    assert HostMonitors(conf, [plugin], a_driver(conf)).metrics() == [
        Metric("cpu.percent", 0.5, "2030-01-31T00:00:00+00:00", "cpu.mine")
    ]


def test_a_simulated_host_has_the_metrics_that_it_declares(conf: cfg.ConfigOpts) -> None:
    """The MetricsWeigher can be tried without load; a host that declares none has none."""
    plugin = MonitorPlugin("cpu.virt_driver", CPUVirtDriver)
    declared = a_driver(conf, f"{SIZE}:metrics=cpu.percent@0.25+cpu.frequency@2400")
    measured = HostMonitors(conf, [plugin], declared).metrics()
    assert {metric.name: metric.value for metric in measured} == {
        "cpu.percent": 0.25,
        "cpu.frequency": 2400,
    }
    assert HostMonitors(conf, [plugin], a_driver(conf)).metrics() == []


@pytest.mark.parametrize("kind", list(Kind))
def test_each_kind_has_a_monitor_of_its_own(conf: cfg.ConfigOpts, kind: Kind) -> None:
    """It passes on what the driver measures of that kind, and of no other."""
    conf.set_override("compute_monitors", [f"{kind}.virt_driver"])
    declared = "+".join(f"{name}@0.5" for name in ALL_METRICS)
    monitors = HostMonitors(conf, load_plugins(conf), a_driver(conf, f"{SIZE}:metrics={declared}"))
    found = {metric.name: metric.source for metric in monitors.metrics()}
    assert found == dict.fromkeys(METRICS[kind], f"{kind}.virt_driver")


def test_a_monitor_that_fails_is_logged_once_and_left_out(
    conf: cfg.ConfigOpts, caplog: pytest.LogCaptureFixture
) -> None:
    """The others go on; when it works again that is said, too."""
    outcome: list[Callable[[], Any]] = [fail]
    plugins = [
        a_plugin("broken.mine", lambda: outcome[0]()),
        a_plugin("cpu.mine", lambda: Readings({"cpu.percent": 0.5}, AT)),
    ]
    monitors = HostMonitors(conf, plugins, a_driver(conf))
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            assert [metric.source for metric in monitors.metrics()] == ["cpu.mine"]
        assert caplog.text.count("Monitor broken.mine of host sim-1 failed") == 1
        assert "no such counter" in caplog.text
        outcome[0] = lambda: Readings({"x": 1}, AT)
        assert [metric.name for metric in monitors.metrics()] == ["x", "cpu.percent"]
        assert caplog.text.count("works again") == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "7", True])
def test_what_is_not_a_number_is_a_failure(conf: cfg.ConfigOpts, value: Any) -> None:
    """It would break what reads it."""
    plugin = a_plugin("cpu.mine", lambda: Readings({"cpu.percent": value}, AT))
    assert HostMonitors(conf, [plugin], a_driver(conf)).metrics() == []
