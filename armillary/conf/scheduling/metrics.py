"""Options of [metrics]: the Prometheus endpoint and the weighing of host metrics."""

from oslo_config import cfg

# fmt: off
OPTIONS: dict[str, list[cfg.Opt]] = {
    "metrics": [
        cfg.PortOpt(
            "port",
            help="""
Port on which a service exposes its metrics over HTTP; 0 exposes none. With several worker processes
the first uses this port, the second the next port, and so on; each has its own values. By default
each kind of service has a port: api 9710, super conductor 9730, cell conductor 9750, scheduler
9770, placement 9790, its REST API alone 9810, compute agent 9830, ``armillary up`` 9850. A service
that finds such a default port in use exposes no metrics, and says so.
""",
        ),
        cfg.HostAddressOpt(
            "listen", default="127.0.0.1",
            help="Address to listen on. There is no authentication: use a private network.",
        ),
        cfg.ListOpt(
            "weight_setting", default=[], mutable=True,
            help="""
Comma-separated host metrics that MetricsWeigher adds up, each with its ratio: ``cpu.percent=-1.0``.
MetricsFilter passes hosts that report all of them. Invalid entries are ignored with a warning.
""",
        ),
        cfg.BoolOpt(
            "required", default=True, mutable=True,
            help="""
Whether a request fails at a host that does not report one of these metrics, with a reason that
names the metric; enable MetricsFilter to reject such hosts first. If off, such a host gets
weight_of_unavailable.
""",
        ),
        cfg.FloatOpt(
            "weight_of_unavailable", default=-10000.0, min=-1e12, max=1e12, mutable=True,
            help="Weight of a host that does not report one of the metrics, if not required.",
        ),
        cfg.FloatOpt(
            "weight_multiplier", default=1.0, mutable=True,
            help="""
Multiplier of MetricsWeigher; 0 turns it off. The aggregate metadata ``metrics_weight_multiplier``
overrides it for the aggregate's hosts; with several values, the lowest applies.
""",
        ),
    ]
}
