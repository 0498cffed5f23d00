"""[metrics]: what a service shows to Prometheus, and where."""

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
    ],
}


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(OPTIONS["metrics"], group="metrics")


def list_opts() -> dict[str, list[cfg.Opt]]:
    return OPTIONS
