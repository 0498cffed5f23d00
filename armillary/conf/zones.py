"""[zones]: the place of this deployment in a tree of zones, and how long others are waited for."""

from __future__ import annotations

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "zones": [
        cfg.StrOpt(
            "name",
            default="",
            regex=r"^[a-zA-Z0-9._-]{0,64}$",
            help="""
Name of this zone: up to 64 letters, digits, '.', '_' and '-', unlike any other in the tree. Empty,
the deployment is no part of a tree: it pushes no summary, and answers no parent. All services of a
zone must have the same one.
""",
        ),
        cfg.IntOpt(
            "entries_max",
            default=10,
            min=1,
            max=10_000,
            mutable=True,
            help="""
N: how many hosts a zone returns at most. A request for more instances than that gets as many hosts
as it has instances.
""",
        ),
        cfg.FloatOpt(
            "select_timeout_seconds",
            default=5.0,
            min=0.1,
            max=300.0,
            mutable=True,
            help="""
Seconds that a request's origin waits for the answers of its children; what has not answered by then
is left out and named in the decision's trace. Each level below has four fifths of what is left.
""",
        ),
        cfg.FloatOpt(
            "push_seconds",
            default=10.0,
            min=0.1,
            max=3600.0,
            help="""
Seconds between two summaries that a zone pushes to its parents. A change that takes a capability
away or brings a new one is pushed sooner: it is looked for at most twice a second, and no more than
2 % of a processor's time.
""",
        ),
        cfg.FloatOpt(
            "expiry_factor",
            default=3.0,
            min=1.0,
            max=100.0,
            mutable=True,
            help="""
A child's summary holds for this many of its push periods. After that the zone is stale: it is asked
nothing and promises nothing until it pushes again.
""",
        ),
        cfg.FloatOpt(
            "offline_factor",
            default=30.0,
            min=1.0,
            max=1000.0,
            mutable=True,
            help="""
After this many push periods without a summary a stale zone is shown as offline.
""",
        ),
        cfg.StrOpt(
            "weighing_profile",
            default="default",
            help="""
Name of the set of weighers and multipliers in use here. It travels with each question; a zone with
another one answers with nothing and says so in its log, since what it weighs cannot be compared.
""",
        ),
        cfg.FloatOpt(
            "attempt_timeout_seconds",
            default=600.0,
            min=1.0,
            max=86_400.0,
            mutable=True,
            help="""
Seconds that one attempt to build in another zone may take. After that it is cancelled there, and
the next host is tried once the zone has confirmed that.
""",
        ),
        cfg.FloatOpt(
            "reconcile_timeout_seconds",
            default=300.0,
            min=1.0,
            max=86_400.0,
            mutable=True,
            help="""
Seconds that a zone whose answer was lost is asked what became of an attempt. After that the server
is in ERROR, mapped to that zone, which has the last word once it is back; no other host is tried,
as there could be two servers then. A request beside members of its affinity group waits as long
for one that is on its way to a host in another zone.
""",
        ),
        cfg.FloatOpt(
            "forward_timeout_seconds",
            default=10.0,
            min=0.1,
            max=300.0,
            mutable=True,
            help="""
Seconds that a question about a server in another zone may take on its way there and back.
""",
        ),
    ],
}


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register this module's options."""
    for group, options in OPTIONS.items():
        conf.register_opts(options, group=group)


def list_opts() -> dict[str, list[cfg.Opt]]:
    """Return this module's options by group."""
    return OPTIONS
