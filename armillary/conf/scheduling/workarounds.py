"""Options of [workarounds]: behaviour for transitional deployments."""

from oslo_config import cfg

# fmt: off
OPTIONS: dict[str, list[cfg.Opt]] = {
    "workarounds": [
        cfg.BoolOpt(
            "disable_fallback_pcpu_query", default=False, mutable=True,
            help="""
Whether servers with pinned CPUs are placed only on hosts that offer dedicated CPUs (PCPU).
Otherwise a second placement query also asks for hosts that offer shared CPUs (VCPU) only. Set it
when all hosts for such servers have [compute] cpu_dedicated_set.
""",
        ),
        cfg.BoolOpt(
            "disable_compute_service_check_for_ffu", default=False,
            help="""
Whether a conductor starts although there are records of services too old for this release; it logs
a warning for each. For an upgrade over several releases while all other services are stopped.
""",
        ),
        cfg.BoolOpt(
            "disable_group_policy_check_upcall", default=False, mutable=True,
            help="""
Whether a compute agent builds without asking its cell conductor again where the other members of
the server group are. Two schedulers that place two members at the same time can then violate
affinity and anti-affinity policies. For cells whose conductors cannot reach the top broker.
""",
        ),
    ]
}
