"""[workarounds]: what is done for deployments in between, and can be turned off."""

from __future__ import annotations

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "workarounds": [
        cfg.BoolOpt(
            "disable_fallback_pcpu_query",
            default=False,
            mutable=True,
            help="""
Whether servers with pinned CPUs go only to hosts that offer dedicated CPUs (PCPU). Otherwise hosts
that offer shared ones alone (VCPU) are asked about, too, by a second query to placement. Set it
when all hosts that are to run such servers have [compute] cpu_dedicated_set.
""",
        ),
        cfg.BoolOpt(
            "disable_compute_service_check_for_ffu",
            default=False,
            help="""
Whether a conductor starts although services have records of a version that this release does not
work with any more; it warns of them. For an upgrade over several releases while all other services
are stopped.
""",
        ),
        cfg.BoolOpt(
            "disable_group_policy_check_upcall",
            default=False,
            mutable=True,
            help="""
Whether a compute agent builds without asking its cell conductor once more where the other members
of the server group are. Two schedulers that decide for two members at the same time then can break
the policies affinity and anti-affinity. For cells whose conductors cannot reach the top broker.
""",
        ),
    ],
}


def register_opts(conf: cfg.ConfigOpts) -> None:
    for group, options in OPTIONS.items():
        conf.register_opts(options, group=group)


def list_opts() -> dict[str, list[cfg.Opt]]:
    return OPTIONS
