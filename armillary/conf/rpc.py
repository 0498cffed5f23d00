"""Options of RPC between services: timeouts and version caps."""

from oslo_config import cfg

from armillary import service_history

_RPC: list[cfg.Opt] = [
    cfg.IntOpt(
        "response_timeout_seconds", default=60, min=1, max=3600,
        help="Seconds that a call waits for its response. After that its outcome is unknown and "
            "the caller reconciles. A call made while another one is handled waits for nine tenths "
            "of the time left to that one at most, so that its error arrives in time.",
    ),
    cfg.IntOpt(
        "long_timeout_seconds", default=300, min=1, max=7200,
        help="Seconds that a long call waits for its response: scheduling, handing builds over "
            "to a cell.",
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
    "Newest version of the RPC interface that is sent to {0}. Unset: the newest version. A "
    "number applies to all of them."
)
_OLDEST = "The newest version that every live peer supports, according to the service records."
_EACH = "The newest version that each agent supports, according to its service record."


def _levels(interface: str) -> list[tuple[str, str]]:
    """Return the allowed values with their meaning: every version there ever was."""
    newest = service_history.rpc_versions(interface)[-1]
    major, _, minor = newest.partition(".")
    numbers = [f"{major}.{number}" for number in range(int(minor) + 1)]
    auto = _EACH if interface == "compute" else _OLDEST
    since = {number: service_history.first_with(interface, number) for number in numbers}
    return [
        (service_history.AUTO, f"{auto} Refreshed every few seconds and on SIGHUP."),
        *((number, f"Since service version {since[number]}.") for number in numbers),
    ]


_UPGRADE_LEVELS: list[cfg.Opt] = [
    cfg.StrOpt(
        name, choices=_levels(name), mutable=True,
        default=service_history.AUTO if name == "compute" else None,
        help=_LEVEL_HELP.format(who),
    )
    for name, who in _SERVED_BY.items()
]  # fmt: skip

OPTIONS: dict[str, list[cfg.Opt]] = {"rpc": _RPC, "upgrade_levels": _UPGRADE_LEVELS}
