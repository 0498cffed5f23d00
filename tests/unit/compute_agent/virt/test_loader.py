"""Drivers by name, and what is said when there is none."""

from pathlib import Path

import pytest
from oslo_config import cfg

from armillary import exception
from compute_agent.virt.loader import make_drivers
from tests.fixtures.agent import AGENT, agent_conf


@pytest.fixture
def conf(tmp_path: Path) -> cfg.ConfigOpts:
    """Return the configuration of an agent, with two simulated hosts in it."""
    conf = agent_conf(tmp_path)
    conf.set_override(
        "hosts", ["name=sim-{1..2}:vcpus=8:memory_mb=8192:disk_gb=50"], group="simulated"
    )
    return conf


def hosts(conf: cfg.ConfigOpts, *names: str) -> list[str]:
    return [driver.host for driver in make_drivers(conf, names)]


def test_the_option_names_the_drivers(conf: cfg.ConfigOpts) -> None:
    """This machine, by default."""
    assert hosts(conf) == [AGENT]
    conf.set_override("driver", ["simulated", "process"], group="compute")
    assert hosts(conf) == ["sim-1", "sim-2", AGENT]


def test_the_caller_may_name_them(conf: cfg.ConfigOpts) -> None:
    """A process with an agent for each driver."""
    assert hosts(conf, "simulated") == ["sim-1", "sim-2"]


def test_an_unknown_driver_is_told_with_those_there_are(conf: cfg.ConfigOpts) -> None:
    """In one line that names the option."""
    with pytest.raises(
        exception.PluginNotFound, match=r"\[compute\] driver .*'libvrit'.*process, sim"
    ):
        hosts(conf, "libvrit")


def test_two_hosts_of_one_name_are_refused(conf: cfg.ConfigOpts) -> None:
    """They would be one record."""
    conf.set_override("host", "sim-2")
    with pytest.raises(exception.ConfigurationError, match="with the same name: sim-2"):
        hosts(conf, "process", "simulated")


def test_an_agent_without_a_driver_is_refused(conf: cfg.ConfigOpts) -> None:
    """It would carry nothing."""
    conf.set_override("driver", [], group="compute")
    with pytest.raises(exception.ConfigurationError, match="creates no hosts"):
        hosts(conf)
