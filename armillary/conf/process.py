"""[process]: how workloads that are operating-system processes are limited, kept and stopped."""

from __future__ import annotations

from oslo_config import cfg

OPTIONS: list[cfg.Opt] = [
    cfg.StrOpt(
        "limits",
        default="auto",
        choices=[
            ("auto", "Cgroups of version 2 where the agent may create them, else rlimit."),
            ("cgroup", "Cgroups with the controllers memory and cpu, or refuse to start."),
            ("rlimit", "Resource limits (memory, of each process) and CPU affinity."),
        ],
        help="""
How the memory and vCPUs of a flavor are enforced. With cgroups (memory.max, memory.swap.max,
cpu.max) the limits hold for all processes of a workload together. With resource limits each process
may map as much private memory as the flavor has (RLIMIT_DATA), and all together run on as many CPUs
as it has vCPUs (affinity); a workload that is out to get around these can. Disk is counted, not
enforced.
""",
    ),
    cfg.StrOpt(
        "cgroup_parent",
        help="""
Cgroup under which the agent makes one for each workload, as a path below the mount point of cgroups
version 2. Unset: ``armillary`` below the root, where the agent may create it, else beside the
agent's own cgroup, when that was delegated to it (systemd: Delegate=yes and
DelegateSubgroup=agent).
""",
    ),
    cfg.StrOpt(
        "workload_user",
        help="""
Name of the user that workloads run as; the agent has to be root for it, and ``state_path`` to be
passable for that user. Unset: the agent's own user.
""",
    ),
    cfg.FloatOpt(
        "settle_seconds",
        default=0.2,
        min=0.0,
        max=60.0,
        help="""
Seconds a new process is watched before its build counts as a success. One that ends within them
with an exit code other than 0 is a failed build, and the next host is tried.
""",
    ),
    cfg.FloatOpt(
        "start_timeout_seconds",
        default=30.0,
        min=1.0,
        max=600.0,
        help="Seconds that starting a process may take before its build has failed.",
    ),
    cfg.FloatOpt(
        "stop_grace_seconds",
        default=5.0,
        min=0.0,
        max=600.0,
        help="Seconds between SIGTERM and SIGKILL when a workload is stopped.",
    ),
    cfg.IntOpt(
        "console_max_bytes",
        default=1024 * 1024,
        min=4096,
        max=1024 * 1024 * 1024,
        help="""
Bytes of a workload's output (standard output and error) that are kept, in two files beside it; the
oldest are dropped.
""",
    ),
    cfg.FloatOpt(
        "restart_delay_seconds",
        default=1.0,
        min=0.1,
        max=3600.0,
        help="""
Seconds before a workload that its restart policy keeps going (image property ``process_restart``)
is started again for the first time; they double with each time after that.
""",
    ),
    cfg.FloatOpt(
        "restart_delay_seconds_max",
        default=60.0,
        min=0.1,
        max=86400.0,
        help="""
Seconds that this delay grows to at most. A workload that ran for longer than that before it ended
begins again with the short one.
""",
    ),
    cfg.IntOpt(
        "move_files_max_bytes",
        default=1024 * 1024,
        min=0,
        max=16 * 1024 * 1024,
        mutable=True,
        help="""
Bytes of files, together, that a workload may have in its directory and still be moved to another
host: they travel in one message. One that has more stays where it is, and so does every workload
with files when this is 0. The hosts it leaves and comes to both look.
""",
    ),
]
