"""[metrics] is off until a port is given."""

from __future__ import annotations

from oslo_config import cfg

from armillary.conf import metrics


def test_no_port_is_open_by_default() -> None:
    """And a port that is given is not open to the world."""
    conf = cfg.ConfigOpts()
    metrics.register_opts(conf)
    conf([], default_config_files=[], default_config_dirs=[])
    assert (conf.metrics.port, conf.metrics.listen) == (0, "127.0.0.1")
