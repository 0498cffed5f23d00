"""Options of [zones]: this deployment's place in a tree of zones, and timeouts between zones."""

from oslo_config import cfg

# fmt: off
OPTIONS: dict[str, list[cfg.Opt]] = {
    "zones": [
        cfg.StrOpt(
            "name", default="", regex=r"^[a-zA-Z0-9._-]{0,64}$",
            help="""
Name of this zone: up to 64 letters, digits, '.', '_' and '-', unique in the tree. Empty: the
deployment is not part of a tree; it pushes no summary and answers no parent. All services of a zone
must have the same value.
""",
        ),
        cfg.IntOpt(
            "entries_max", default=10, min=1, max=10_000, mutable=True,
            help="""
Maximum number of hosts (N) that a zone returns. A request for more instances than that gets as many
hosts as it has instances.
""",
        ),
        cfg.FloatOpt(
            "select_timeout_seconds", default=5.0, min=0.1, max=300.0, mutable=True,
            help="""
Seconds that the zone where a request originates waits for the answers of its children. Zones that
have not answered by then are left out and named in the decision's trace. Each level below gets four
fifths of the remaining time. Super conductors give up on a decision after [rpc]
long_timeout_seconds, which has to be longer.
""",
        ),
        cfg.FloatOpt(
            "push_seconds", default=10.0, min=0.1, max=3600.0,
            help="""
Seconds between two summaries that a zone pushes to its parents. A change that adds or removes a
capability is pushed sooner: the zone checks for one at most twice a second, using no more than 2 %
of a processor's time.
""",
        ),
        cfg.FloatOpt(
            "expiry_factor", default=3.0, min=1.0, max=100.0, mutable=True,
            help="""
Number of push periods for which a child's summary is valid. After that the zone is stale: it gets
no requests until it pushes again.
""",
        ),
        cfg.FloatOpt(
            "offline_factor", default=30.0, min=1.0, max=1000.0, mutable=True,
            help="""
Number of push periods without a summary after which a stale zone is shown as offline.
""",
        ),
        cfg.StrOpt(
            "weighing_profile", default="default",
            help="""
Name of the set of weighers and multipliers in use. It is sent with each request. A zone with a
different profile returns no hosts and logs this, since its weights cannot be compared.
""",
        ),
        cfg.FloatOpt(
            "attempt_timeout_seconds", default=600.0, min=1.0, max=86_400.0, mutable=True,
            help="""
Seconds that one attempt to build in another zone may take. After that it is cancelled there, and
the next host is tried once the zone has confirmed the cancellation.
""",
        ),
        cfg.FloatOpt(
            "reconcile_timeout_seconds", default=300.0, min=1.0, max=86_400.0, mutable=True,
            help="""
Seconds for which a zone is asked about the outcome of an attempt after its answer was lost. After
that the server is in ERROR and mapped to that zone, which decides its final state once it is back.
No other host is tried, as this could create a second server. A request that joins an affinity group
waits as long for a member that is being built in another zone.
""",
        ),
        cfg.FloatOpt(
            "absence_wait_seconds", default=60.0, min=0.0, max=86_400.0, mutable=True,
            help="""
Seconds for which a request waits for zones that do not answer, if no other zone can serve it: a
zone is unreachable for seconds while its services restart. A request that finds no host waits from
its acceptance on, until the silent zone answers or is offline. One whose hosts all failed
waits from the last failure on, for the zones that did not answer the search, and from the moment at
which it could not be reached for a zone whose hosts it was to try. 0: it fails immediately.
""",
        ),
        cfg.BoolOpt(
            "hide_host_names", default=False,
            help="""
Whether this zone hides the names of its hosts from its parents: in what they see of their servers
here (details, faults, actions, explanations, migrations) and in reasons of failed builds, a host is
named by the UUID of its compute node, and the pool of a claim by its UUID; addresses of hosts are
left out. The zone's own API and logs have the names.
""",
        ),
        cfg.FloatOpt(
            "forward_timeout_seconds", default=10.0, min=0.1, max=300.0, mutable=True,
            help="""
Timeout, in seconds, of a forwarded request about a server in another zone, including the response.
""",
        ),
    ]
}
