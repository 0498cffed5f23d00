"""Options of messages between services: timeouts, version caps."""

from __future__ import annotations

from oslo_config import cfg

from armillary import service_history

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

_SERVED_BY = {
    "scheduler": "schedulers",
    "conductor": "super conductors",
    "cell_conductor": "conductors of a cell",
    "compute": "compute agents",
    "placement": "placement",
}
_LEVEL_HELP = (
    "Newest version of the RPC interface that is sent to {0}. Without one, the newest there is. A "
    "number holds for all of them. Those of before service version {1} left no record that 'auto' "
    "could go by, unless they are agents: set the number while such a one runs."
)
_OLDEST = "What the oldest living one understands, as the records of the services tell."
_EACH = "What each agent understands, as its own record tells."


def _levels(interface: str) -> list[tuple[str, str]]:
    """Return what may be set, with what it means: every version that there was."""
    newest = service_history.rpc_versions(interface)[-1]
    major, _, minor = newest.partition(".")
    numbers = [f"{major}.{number}" for number in range(int(minor) + 1)]
    auto = _EACH if interface == "compute" else _OLDEST
    since = {number: service_history.first_with(interface, number) for number in numbers}
    return [
        (service_history.AUTO, f"{auto} It is looked at anew every few seconds and on SIGHUP."),
        *((number, f"Since service version {since[number]}.") for number in numbers),
    ]


UPGRADE_LEVELS_OPTS: list[cfg.Opt] = [
    cfg.StrOpt(
        name, choices=_levels(name), mutable=True,
        default=service_history.AUTO if name == "compute" else None,
        help=_LEVEL_HELP.format(who, service_history.BEFORE_RECORDS + 1),
    )
    for name, who in _SERVED_BY.items()
]  # fmt: skip


def list_opts() -> dict[str, list[cfg.Opt]]:
    """Return the options by group."""
    return {"rpc": RPC_OPTS, "upgrade_levels": UPGRADE_LEVELS_OPTS}


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options on a configuration."""
    for group, opts in list_opts().items():
        conf.register_opts(opts, group=group)
