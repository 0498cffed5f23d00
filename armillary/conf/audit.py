"""Options of [audit]: the audit trail."""

from oslo_config import cfg

# fmt: off
OPTIONS: dict[str, list[cfg.Opt]] = {
    "audit": [
        cfg.StrOpt(
            "log_file",
            help="""
File of the audit trail: a JSON object a line for each HTTP request that changes something or is
refused, each login, and each refused RPC message. It is created with mode 0600 in an existing
directory, and opened again after it was moved, so logrotate needs no signal. Several processes of a
machine may share it. Unset: there is no audit trail. ``armillary up`` writes
``$state_path/audit.log``.
""",
        ),
        cfg.IntOpt(
            "value_characters_max", default=256, min=64, max=4096,
            help="Maximum number of characters of a value in the audit trail; the rest is cut off.",
        ),
    ]
}
