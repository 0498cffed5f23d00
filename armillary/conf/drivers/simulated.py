"""Options of [simulated]: simulated hosts, and the delays and failures of their operations."""

from oslo_config import cfg

# fmt: off
OPTIONS: list[cfg.Opt] = [
    cfg.MultiStrOpt(
        "hosts", default=[],
        help="""
Hosts to simulate, as ``name=sim-{01..20}:vcpus=16:memory_mb=65536:disk_gb=500``, optionally with
``:traits=HW_CPU_X86_AVX2+CUSTOM_FAST``. ``{01..20}`` expands to each number of the range, with the
same number of digits. For hosts of different sizes, repeat the option or separate values with
commas. Further keys: ``numa=2`` (cells, evenly split), ``pcpus=8`` (dedicated CPUs in addition to
the vCPUs), ``siblings=2`` (threads per core), ``hugepages=2048@512`` (KiB and count),
``pci=8086/10ed/VF@4`` (vendor, product, optional type, and count) and ``metrics=cpu.percent@0.25``.
Join several values of the last three with ``+``.
""",
    ),
    cfg.FloatOpt(
        "build_delay_seconds_min", default=0.1, min=0.0, max=3600.0, mutable=True,
        help="Minimum duration of a simulated build, in seconds.",
    ),
    cfg.FloatOpt(
        "build_delay_seconds_max", default=0.5, min=0.0, max=3600.0, mutable=True,
        help="Maximum duration of a simulated build, in seconds; not less than the minimum.",
    ),
    cfg.FloatOpt(
        "failure_rate", default=0.0, min=0.0, max=1.0, mutable=True,
        help="Fraction of all builds that fail, from 0 (none) to 1 (all).",
    ),
    cfg.IntOpt(
        "failure_seed", default=0, min=0, mutable=True,
        help="""
Seed of simulated builds. Which builds fail, and how long each takes, depends only on this number,
the host and the instance's UUID.
""",
    ),
    cfg.ListOpt(
        "failing_hosts", default=[], mutable=True,
        help="Hosts whose builds always fail; ``*``, ``?`` and ``[...]`` are shell wildcards.",
    ),
    cfg.FloatOpt(
        "operation_delay_seconds_min", default=0.05, min=0.0, max=3600.0, mutable=True,
        help="""
Minimum duration, in seconds, of any operation other than a build: start, stop, reboot, resize or
take over a simulated guest.
""",
    ),
    cfg.FloatOpt(
        "operation_delay_seconds_max", default=0.2, min=0.0, max=3600.0, mutable=True,
        help="Maximum duration of such an operation, in seconds; not less than the minimum.",
    ),
    cfg.FloatOpt(
        "live_migration_mib_per_second", default=1024.0, min=1.0, max=1_000_000.0, mutable=True,
        help="MiB of memory copied per second when a running guest migrates.",
    ),
    cfg.ListOpt(
        "failing_operations", default=[], mutable=True,
        help="""
Comma-separated operations that always fail: ``power_off``, ``power_on``, ``reboot``, ``resize``,
``detach``, ``attach``, ``prepare_live``, ``live_migrate`` or ``complete_live``. With a host prefix,
such as ``cell1-*:live_migrate``, an operation fails on those hosts only. ``*``, ``?`` and ``[...]``
are shell wildcards in both parts.
""",
    ),
]
