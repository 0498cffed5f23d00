"""[DEFAULT] has sensible values."""

import socket

import pytest
from oslo_config import cfg

from armillary.conf import base
from tests.fixtures.configuration import parsed_conf


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    return parsed_conf(base)


def test_a_host_is_named_after_its_machine(conf: cfg.ConfigOpts) -> None:
    """Unless told otherwise."""
    assert conf.host == socket.gethostname()


def test_a_service_misses_several_reports_before_it_is_down(conf: cfg.ConfigOpts) -> None:
    """One lost message must not cost a host."""
    assert conf.service_down_time >= 3 * conf.report_interval


def test_no_service_is_down_immediately(conf: cfg.ConfigOpts) -> None:
    """A limit of less than two seconds is shorter than any interval between two heartbeats."""
    conf.set_override("service_down_time", 2)
    with pytest.raises(ValueError, match="greater than or equal to 2"):
        conf.set_override("service_down_time", 1)
