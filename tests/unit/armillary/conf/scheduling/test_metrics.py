"""[metrics]: the port of each kind of service, and the weighing of host metrics."""

from armillary.conf.scheduling import metrics
from armillary.metrics import service_metrics
from tests.fixtures.configuration import parsed_conf
from tests.fleets import scheduling_conf


def test_a_default_port_is_open_to_this_machine_only() -> None:
    """Each kind of service has one, which the option's help names."""
    conf = parsed_conf(metrics)
    assert (conf.metrics.port, conf.metrics.listen) == (None, "127.0.0.1")
    (text,) = [str(option.help) for option in metrics.OPTIONS["metrics"] if option.name == "port"]
    assert all(str(port) in text for port in service_metrics.DEFAULT_PORTS.values())


def test_the_weighing_of_hosts_metrics_is_as_known() -> None:
    """The defaults that operators know from elsewhere."""
    options = scheduling_conf().metrics
    assert (options.weight_setting, options.required) == ([], True)
    assert (options.weight_of_unavailable, options.weight_multiplier) == (-10000.0, 1.0)
