"""[simulated]: hosts on which nothing runs, how long what they pretend takes, and what fails."""

from __future__ import annotations

from oslo_config import cfg

OPTIONS: list[cfg.Opt] = [
    cfg.MultiStrOpt(
        "hosts",
        default=[],
        help="""
Hosts to simulate, as ``name=sim-{01..20}:vcpus=16:memory_mb=65536:disk_gb=500``, perhaps with
``:traits=HW_CPU_X86_AVX2+CUSTOM_FAST``. ``{01..20}`` stands for each number of the range, in as
many digits. Give the option several times, or several of them separated by commas, for hosts of
different sizes. Further parts: ``numa=2`` (cells, evenly split), ``pcpus=8`` (dedicated CPUs beside
the vCPUs), ``siblings=2`` (threads of a core), ``hugepages=2048@512`` (KiB, and how many),
``pci=8086/10ed/VF@4`` (vendor, product, perhaps type, and how many) and
``metrics=cpu.percent@0.25``; of the last three several are joined by ``+``.
""",
    ),
    cfg.FloatOpt(
        "build_delay_seconds_min",
        default=0.1,
        min=0.0,
        max=3600.0,
        mutable=True,
        help="Seconds a simulated build takes at least.",
    ),
    cfg.FloatOpt(
        "build_delay_seconds_max",
        default=0.5,
        min=0.0,
        max=3600.0,
        mutable=True,
        help="Seconds a simulated build takes at most; not less than the minimum.",
    ),
    cfg.FloatOpt(
        "failure_rate",
        default=0.0,
        min=0.0,
        max=1.0,
        mutable=True,
        help="Part of all builds that fail, from 0 (none) to 1 (all).",
    ),
    cfg.IntOpt(
        "failure_seed",
        default=0,
        min=0,
        mutable=True,
        help="""
Which builds fail, and how long each takes, follows from this number, the host and the instance's
UUID alone.
""",
    ),
    cfg.ListOpt(
        "failing_hosts",
        default=[],
        mutable=True,
        help="Hosts whose builds always fail; ``*``, ``?`` and ``[...]`` match as in a shell.",
    ),
    cfg.FloatOpt(
        "operation_delay_seconds_min",
        default=0.05,
        min=0.0,
        max=3600.0,
        mutable=True,
        help="""
Seconds that anything else than a build takes at least: to start, stop, reboot, resize or take over
a simulated guest.
""",
    ),
    cfg.FloatOpt(
        "operation_delay_seconds_max",
        default=0.2,
        min=0.0,
        max=3600.0,
        mutable=True,
        help="Seconds that such an operation takes at most; not less than the minimum.",
    ),
    cfg.FloatOpt(
        "live_migration_mib_per_second",
        default=1024.0,
        min=1.0,
        max=1_000_000.0,
        mutable=True,
        help="MiB of its memory that are copied each second when a running guest moves.",
    ),
    cfg.ListOpt(
        "failing_operations",
        default=[],
        mutable=True,
        help="""
Operations that always fail, separated by commas: ``power_off``, ``power_on``, ``reboot``,
``resize``, ``detach``, ``attach``, ``prepare_live``, ``live_migrate`` or ``complete_live``. With a
host before it, such as ``cell1-*:live_migrate``, one fails on those hosts alone; ``*``, ``?`` and
``[...]`` match as in a shell, in both parts.
""",
    ),
]
