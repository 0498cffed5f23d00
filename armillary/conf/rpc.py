"""Options of messages between services: timeouts, version caps."""

from __future__ import annotations

from oslo_config import cfg

RPC_OPTS: list[cfg.Opt] = [
    cfg.IntOpt(
        "response_timeout_seconds", default=60, min=1, max=3600,
        help="How long a call waits for its answer, in seconds. After that its outcome is "
        "unknown and the caller reconciles.",
    ),
    cfg.IntOpt(
        "long_timeout_seconds", default=300, min=1, max=7200,
        help="The same for calls that may take long: scheduling, handing builds over to a cell; "
        "in seconds.",
    ),
]  # fmt: skip

_LEVEL_HELP = (
    "Highest version of the {0} RPC interface to send, such as 1.0. Unset sends the newest. "
    "Set it while older {0} services still run."
)

UPGRADE_LEVELS_OPTS: list[cfg.Opt] = [
    cfg.StrOpt(name, regex=r"^\d+\.\d+$", help=_LEVEL_HELP.format(name))
    for name in ("scheduler", "conductor", "cell_conductor", "compute", "placement")
]


def list_opts() -> dict[str, list[cfg.Opt]]:
    """Return the options by group."""
    return {"rpc": RPC_OPTS, "upgrade_levels": UPGRADE_LEVELS_OPTS}


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options on a configuration."""
    for group, opts in list_opts().items():
        conf.register_opts(opts, group=group)
