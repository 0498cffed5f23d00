"""[signing]: messages between services that prove who sent them."""

from __future__ import annotations

from oslo_config import cfg

GROUP = "signing"

OPTIONS: list[cfg.Opt] = [
    cfg.StrOpt(
        "mode",
        default="off",
        choices=[
            ("off", "Sign nothing, check nothing; signed messages of others are read."),
            (
                "accept",
                "Sign what is sent; refuse bad signatures, accept messages without.",
            ),
            ("required", "Sign what is sent; refuse what nobody signed who is trusted."),
        ],
        help="""
Whether messages are signed and checked. Go from off to required by way of accept, on every process
of a deployment before the next step on the first of them.
""",
    ),
    cfg.StrOpt(
        "key_file",
        default="$state_path/signing.key",
        help="""
File with this process's own Ed25519 key, mode 0600, made by ``armillary-manage key create``. It
never leaves this machine; its public half is put on the trust list.
""",
    ),
    cfg.StrOpt(
        "trust_file",
        default="$state_path/trust.json",
        help="""
File with the trust list of the services (all but the compute agents): whose key is whose, signed by
a root key. It has to be there at the first start; what is pushed later is written to it, so it has
to be in a directory that the service may write to.
""",
    ),
    cfg.StrOpt(
        "compute_trust_file",
        help="""
File with the trust list of the compute agents. The super and the cell conductors need it; agents do
not, nor do the other services, which no agent can reach.
""",
    ),
    cfg.ListOpt(
        "root_keys",
        default=[],
        help="""
Public root keys, base64, as ``armillary-manage key create`` prints them: a trust list counts when
one of their private halves signed it. Those stay with the operator, on none of these machines. Two
at a time while one takes over from the other.
""",
    ),
    cfg.FloatOpt(
        "window_seconds",
        default=300.0,
        min=5.0,
        max=3600.0,
        help="""
Age in seconds, by the sender's clock, up to which a message is taken. It has to cover the time that
messages wait in a queue and the difference of two clocks; so long is each one remembered.
""",
    ),
    cfg.FloatOpt(
        "push_seconds",
        default=30.0,
        min=1.0,
        max=3600.0,
        help="""
Seconds between two pushes of the trust lists, by the super conductor to the services and to the
cell conductors, by these to their agents: after so long a revoked key is refused everywhere.
""",
    ),
]


def list_opts() -> dict[str, list[cfg.Opt]]:
    """Return the options by group."""
    return {GROUP: OPTIONS}


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options on a configuration."""
    conf.register_opts(OPTIONS, group=GROUP)
