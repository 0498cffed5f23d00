"""[metrics]: what a service shows to Prometheus, and what hosts' own metrics weigh."""

from __future__ import annotations

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "metrics": [
        cfg.PortOpt(
            "port",
            default=0,
            help="""
Port on which a service shows its metrics over HTTP; 0, the default, shows none. With several worker
processes the first has this port, the second the next one, and so on: each has its own numbers.
""",
        ),
        cfg.HostAddressOpt(
            "listen",
            default="127.0.0.1",
            help="Address to listen on. There is no authentication: keep it on a private network.",
        ),
        cfg.ListOpt(
            "weight_setting",
            default=[],
            mutable=True,
            help="""
Metrics of hosts that MetricsWeigher adds up, each with its ratio: ``cpu.percent=-1.0``, with commas
between them. MetricsFilter passes hosts that report all of them. What cannot be read is left out,
with a warning.
""",
        ),
        cfg.BoolOpt(
            "required",
            default=True,
            mutable=True,
            help="""
Whether a host that does not report one of these metrics ends the request, with a reason that names
the metric; MetricsFilter leaves such hosts out before. Off, it has weight_of_unavailable.
""",
        ),
        cfg.FloatOpt(
            "weight_of_unavailable",
            default=-10000.0,
            min=-1e12,
            max=1e12,
            mutable=True,
            help="Weight of a host that does not report one of the metrics, when not required.",
        ),
        cfg.FloatOpt(
            "weight_multiplier",
            default=1.0,
            mutable=True,
            help="""
What MetricsWeigher's weight is multiplied with; 0 turns it off. An aggregate's metadata
``metrics_weight_multiplier`` overrides it for the aggregate's hosts; of several, the least counts.
""",
        ),
    ],
}


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(OPTIONS["metrics"], group="metrics")


def list_opts() -> dict[str, list[cfg.Opt]]:
    return OPTIONS
