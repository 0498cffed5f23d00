"""[metrics] is off until a port is given."""

from __future__ import annotations

from armillary.conf.scheduling import metrics
from tests.fixtures.configuration import parsed_conf
from tests.fleets import scheduling_conf


def test_no_port_is_open_by_default() -> None:
    """And a port that is given is not open to the world."""
    conf = parsed_conf(metrics)
    assert (conf.metrics.port, conf.metrics.listen) == (0, "127.0.0.1")


def test_the_weighing_of_hosts_metrics_is_as_known() -> None:
    """The defaults that operators know from elsewhere."""
    options = scheduling_conf().metrics
    assert (options.weight_setting, options.required) == ([], True)
    assert (options.weight_of_unavailable, options.weight_multiplier) == (-10000.0, 1.0)
