"""Options of [signing]: message signatures, keys and trust lists."""

from oslo_config import cfg

# fmt: off
_SIGNING: list[cfg.Opt] = [
    cfg.StrOpt(
        "mode", default="off",
        choices=[
            ("off", "Sign nothing and check nothing; signed messages are accepted."),
            ("accept", "Sign messages; reject bad signatures, accept unsigned messages."),
            ("required", "Sign messages; reject messages without a signature from a trusted key."),
        ],
        help="""
Whether messages are signed and verified. Go from off to required by way of accept, and complete
each step on every process of a deployment before the next.
""",
    ),
    cfg.StrOpt(
        "key_file", default="$state_path/signing.key",
        help="""
File with this process's own Ed25519 key, mode 0600, created by ``armillary-manage key create``. It
never leaves this machine; its public key is put on the trust list. A file that is replaced is read
within a second.
""",
    ),
    cfg.StrOpt(
        "trust_file", default="$state_path/trust.json",
        help="""
File with the trust list of the services (all except compute agents), which maps keys to services
and is signed by a root key. It must exist at the first start. Later versions are pushed and written
to it, so its directory must be writable by the service.
""",
    ),
    cfg.StrOpt(
        "compute_trust_file",
        help="""
File with the trust list of the compute agents. Needed by super and cell conductors only; the other
services cannot be reached by agents.
""",
    ),
    cfg.ListOpt(
        "root_keys", default=[],
        help="""
Public root keys, base64, as printed by ``armillary-manage key create``. A trust list is valid if
one of their private keys signed it. The private keys stay with the operator, on none of these
machines. Use two keys while one replaces the other.
""",
    ),
    cfg.FloatOpt(
        "window_seconds", default=300.0, min=5.0, max=3600.0,
        help="""
Maximum age of a message in seconds, by the sender's clock. It must cover the time that messages
wait in a queue plus the clock skew. Messages are remembered for this long to reject replays.
""",
    ),
    cfg.FloatOpt(
        "push_seconds", default=30.0, min=1.0, max=3600.0,
        help="""
Seconds between two pushes of the trust lists, from the super conductor to the services and cell
conductors, and from these to their agents, for those that missed a change. A changed list is pushed
immediately, so a revoked key is rejected everywhere within seconds.
""",
    ),
]

OPTIONS: dict[str, list[cfg.Opt]] = {"signing": _SIGNING}
