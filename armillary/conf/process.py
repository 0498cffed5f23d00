"""Options of [process]: limits, files and restarts of process workloads."""

from oslo_config import cfg

# fmt: off
OPTIONS: list[cfg.Opt] = [
    cfg.StrOpt(
        "limits", default="auto",
        choices=[
            ("auto", "Cgroups v2 if the agent may create them, else rlimit."),
            (
                "cgroup",
                "Cgroups v2 with the controllers memory and cpu; refuse to start without them.",
            ),
            ("rlimit", "Resource limits (memory, of each process) and CPU affinity."),
        ],
        help="""
How the memory and vCPUs of a flavor are enforced. With cgroups (memory.max, memory.swap.max,
cpu.max) the limits apply to all processes of a workload together. With resource limits each process
may map as much private memory as the flavor has (RLIMIT_DATA), and all together run on as many CPUs
as it has vCPUs (affinity); a malicious workload can evade these. Disk is counted but not enforced.
""",
    ),
    cfg.StrOpt(
        "cgroup_parent",
        help="""
Parent cgroup of the workloads' cgroups, as a path below the mount point of cgroups v2. Unset:
``armillary`` below the root if the agent may create it, else next to the agent's own cgroup if that
was delegated to it (systemd: Delegate=yes and DelegateSubgroup=agent).
""",
    ),
    cfg.StrOpt(
        "workload_user",
        help="""
User that workloads run as. The agent must be root to use it, and that user must be able to traverse
``state_path``. Unset: the agent's own user.
""",
    ),
    cfg.FloatOpt(
        "settle_seconds", default=0.2, min=0.0, max=60.0,
        help="""
Seconds for which a new process is watched before its build counts as successful. If it ends within
this time with an exit code other than 0, the build failed and the next host is tried.
""",
    ),
    cfg.FloatOpt(
        "start_timeout_seconds", default=30.0, min=1.0, max=600.0,
        help="Seconds that starting a process may take before the build fails.",
    ),
    cfg.FloatOpt(
        "stop_grace_seconds", default=5.0, min=0.0, max=600.0,
        help="Seconds between SIGTERM and SIGKILL when a workload is stopped.",
    ),
    cfg.IntOpt(
        "console_max_bytes", default=1024 * 1024, min=4096, max=1024 * 1024 * 1024,
        help="""
Maximum output of a workload (standard output and error) that is kept, in bytes, in two files; the
oldest output is dropped.
""",
    ),
    cfg.FloatOpt(
        "restart_delay_seconds", default=1.0, min=0.1, max=3600.0,
        help="""
Seconds to wait before the first restart of a workload with a restart policy (image property
``process_restart``). The delay doubles with each further restart.
""",
    ),
    cfg.FloatOpt(
        "restart_delay_seconds_max", default=60.0, min=0.1, max=86400.0,
        help="""
Maximum restart delay in seconds. A workload that ran longer than this before it ended starts again
with the initial delay.
""",
    ),
    cfg.IntOpt(
        "move_files_max_bytes", default=1024 * 1024, min=0, max=16 * 1024 * 1024, mutable=True,
        help="""
Maximum total size, in bytes, of the files in a workload's directory with which it can still be
moved to another host: they are sent in one message. A workload with more cannot be moved; with 0, a
workload with any file cannot. Source and destination both check this.
""",
    ),
]
