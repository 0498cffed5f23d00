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
Cgroup below which the agent makes one for its host, and there those of its workloads, as a path
below the mount point of cgroups v2. Unset: ``armillary`` below the root if the agent may create it,
else next to the agent's own cgroup if that was delegated to it (systemd: Delegate=yes and
DelegateSubgroup=agent).
""",
    ),
    cfg.StrOpt(
        "workload_user",
        help="""
User that all workloads run as; only an agent that runs as root can change users. Unset: a user of
its own for each workload (workload_uid_base) if the agent is root, else the agent's user. Workloads
run as root only if this says ``root``.
""",
    ),
    cfg.IntOpt(
        "workload_uid_base", default=1879048192, min=1000, max=2147418111,
        help="""
First of the 65,536 numbers of users and groups of which each workload gets its own while it exists,
if the agent is root and workload_user is unset. No account of the machine and no container may use
them; the default begins a range that systemd and others leave free.
""",
    ),
    cfg.IntOpt(
        "pids_max", default=1024, min=2, max=4194304,
        help="""
Maximum number of processes and threads of a workload: pids.max of its cgroup, if the controller
pids is available, and RLIMIT_NPROC if the workload has a user of its own.
""",
    ),
    cfg.StrOpt(
        "mounts", default="auto",
        choices=[
            ("auto", "Private if the kernel allows it, else those of the machine."),
            ("private", "Refuse to start if the kernel does not allow it."),
            ("host", "The file systems of the machine."),
        ],
        help="""
File systems that workloads see. Private: those of the machine without ``state_path`` (except the
workload's own home), the agent's configuration and keys, ``/etc/armillary`` and ``/run``, and with
``/tmp``, ``/var/tmp`` and ``/dev/shm`` of its own. An agent that is not root needs user namespaces
for it.
""",
    ),
    cfg.StrOpt(
        "network", default="auto",
        choices=[
            ("auto", "Private if the kernel allows it, else that of the machine."),
            ("private", "Refuse to start if the kernel does not allow it."),
            ("host", "The network of the machine, with all that listens on its loopback address."),
        ],
        help="""
Network of workloads. Private: each has a loopback interface of its own and no other, so that it
reaches no broker, database or API, and nothing reaches it. Workloads that serve or use a network
need ``host``.
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
