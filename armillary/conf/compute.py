"""[compute], [process], [simulated], [pci], and in [DEFAULT] what hosts offer, how they build."""

from __future__ import annotations

from oslo_config import cfg


def _ratio(resource: str, what: str) -> cfg.FloatOpt:
    return cfg.FloatOpt(
        f"{resource}_allocation_ratio",
        min=0.01,
        max=1000.0,
        mutable=True,
        help=f"""
How many {what} are handed out for each one that a host has. When it is set it is written into
placement and overrides what an operator set there; unset, the value in placement holds, and a new
host begins with ``initial_{resource}_allocation_ratio``.
""",
    )


def _initial_ratio(resource: str, what: str, default: float) -> cfg.FloatOpt:
    return cfg.FloatOpt(
        f"initial_{resource}_allocation_ratio",
        default=default,
        min=0.01,
        max=1000.0,
        help=f"""
``{resource}_allocation_ratio`` of a host that placement hears of for the first time: how many
{what} are handed out for each one that it has. Later changes belong into placement or into
``{resource}_allocation_ratio``.
""",
    )


OPTIONS: dict[str, list[cfg.Opt]] = {
    "DEFAULT": [
        cfg.HostAddressOpt(
            "my_ip",
            sample_default="<the address of the default route's interface>",
            help="Address that this machine's hosts show. Unset: that of the default route.",
        ),
        cfg.IntOpt(
            "reserved_host_cpus",
            default=0,
            min=0,
            mutable=True,
            help="CPUs of each host that are kept back for the host itself and never handed out.",
        ),
        cfg.IntOpt(
            "reserved_host_memory_mb",
            default=512,
            min=0,
            mutable=True,
            help="Memory of each host, in MiB, that is kept back for the host itself.",
        ),
        cfg.IntOpt(
            "reserved_host_disk_mb",
            default=0,
            min=0,
            mutable=True,
            help="Disk of each host, in MiB, kept back for the host itself; rounded up to GiB.",
        ),
        _ratio("cpu", "vCPUs"),
        _ratio("ram", "MiB of memory"),
        _ratio("disk", "GiB of disk"),
        _initial_ratio("cpu", "vCPUs", 4.0),
        _initial_ratio("ram", "MiB of memory", 1.0),
        _initial_ratio("disk", "GiB of disk", 1.0),
        cfg.IntOpt(
            "max_concurrent_builds",
            default=10,
            min=0,
            mutable=True,
            help="Builds that run at the same time on one host; the others wait. 0 is no limit.",
        ),
        cfg.IntOpt(
            "update_resources_interval",
            default=0,
            min=-1,
            help="""
Seconds between two full reports of what the hosts have and use. 0 means 60 seconds, -1 turns them
off; changes by builds and deletes are reported at once in any case.
""",
        ),
        cfg.ListOpt(
            "compute_monitors",
            default=[],
            help="""
Monitors that measure each host for the MetricsFilter and the MetricsWeigher, by name, separated by
commas: ``cpu.virt_driver`` (frequency, times and percentages of the CPUs), or those that a plugin
installs under ``armillary.compute.monitors``. One of each kind, which is the name up to the dot.
""",
        ),
    ],
    "compute": [
        cfg.ListOpt(
            "driver",
            default=["process"],
            help="""
What carries the workloads: ``process`` (operating-system processes on this machine, one host),
``simulated`` (any number of hosts on which nothing runs), or a driver that a plugin installs under
``armillary.compute.drivers``. Several, separated by commas, work side by side in one agent.
""",
        ),
        cfg.StrOpt(
            "cpu_shared_set",
            help="""
CPUs of this machine that vCPUs share (resource class VCPU), such as ``0-3,8,^2``. Unset: all, or,
when ``cpu_dedicated_set`` is given, none. For the driver ``process``; workloads without CPUs of
their own run on these alone.
""",
        ),
        cfg.StrOpt(
            "cpu_dedicated_set",
            help="""
CPUs of this machine that are given to one vCPU each (resource class PCPU), such as ``4-15,^8``; for
flavors with ``hw:cpu_policy=dedicated`` or ``mixed``. None of them is in ``cpu_shared_set``. For
the driver ``process``.
""",
        ),
        cfg.BoolOpt(
            "packing_host_numa_cells_allocation_strategy",
            default=False,
            help="""
Whether guests that ask for NUMA cells get the fullest of a host's cells that have room, which keeps
the others free for large guests, and not the emptiest. Give it to schedulers, too, with the same
value.
""",
        ),
        cfg.StrOpt(
            "journal",
            default="$state_path/compute-journal.sqlite",
            help="""
File in which the agent writes down what it was told before it does it. It belongs to one agent
alone and has to survive its restarts.
""",
        ),
        cfg.IntOpt(
            "consecutive_build_service_disable_threshold",
            default=10,
            min=0,
            mutable=True,
            help="""
0: builds that fail are not counted. Any other value: those in a row are counted for each host, and
the BuildFailureWeigher of the scheduler keeps away from it. (No service is disabled; the name is
kept because operators know it.)
""",
        ),
        cfg.IntOpt(
            "worker_threads",
            default=100,
            min=2,
            max=10000,
            help="""
Builds that run at the same time in one agent, on all its hosts together; another such number of
threads deletes. Threads are made when they are needed.
""",
        ),
        cfg.FloatOpt(
            "guest_poll_interval_seconds",
            default=1.0,
            min=0.1,
            max=3600.0,
            help="Seconds between two looks for workloads that have ended by themselves.",
        ),
        cfg.IntOpt(
            "reconcile_interval_seconds",
            default=300,
            min=1,
            max=86400,
            help="""
Seconds between two comparisons of what runs here with what the cell conductor says should. One is
made at start, too, and when the conductor was out of reach for longer than ``service_down_time``.
""",
        ),
        cfg.StrOpt(
            "stray_guest_action",
            default="destroy",
            choices=[
                ("destroy", "Destroy it: its instance was deleted or built elsewhere meanwhile."),
                ("keep", "Leave it alone and say so in the log at each comparison."),
            ],
            mutable=True,
            help="""
What to do with a guest of this agent that should not be here, after the cell conductor has answered
that it does not know it on this host. Use ``keep`` while a cell's database is being restored from a
backup.
""",
        ),
    ],
    "pci": [
        cfg.MultiStrOpt(
            "alias",
            default=[],
            help="""
Kinds of PCI devices that flavors may ask for by name, as ``pci_passthrough:alias=NAME:COUNT``: a
JSON object of ``name``, ``vendor_id`` and ``product_id`` (four hexadecimal digits),
``device_type`` (``type-PCI``, ``type-PF``, ``type-VF``; left out: any but ``type-PF``) and
``numa_policy``: how near the devices have to be to the guest's NUMA cells, ``required`` (in the
same cell), ``socket`` (on the same socket), ``preferred`` (as near as there are) or ``legacy`` (in
the same cell, or in none; the default). Where placement counts devices, also ``resource_class`` and
``traits`` (a text with commas), by which it does. Several with one name are alternatives. Give the
option several times for several kinds; the super conductor reads it.
""",
        ),
        cfg.MultiStrOpt(
            "device_spec",
            default=[],
            help="""
PCI devices of this machine that workloads may have, for the driver ``process``: a JSON object of
``vendor_id`` and ``product_id`` (four hexadecimal digits, or ``*``), ``address`` (such as
``0000:06:00.1``, with ``*`` and ``?`` as in a shell), ``physical_network`` (what the device is
plugged into) and ``tags`` (an object of texts). What is left out matches any device; the first line
that matches counts. Give the option several times for devices of different kinds.
""",
        ),
    ],
    "process": [
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
    ],
    "simulated": [
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
    ],
}


def register_opts(conf: cfg.ConfigOpts) -> None:
    for group, options in OPTIONS.items():
        conf.register_opts(options, group=None if group == "DEFAULT" else group)


def list_opts() -> dict[str, list[cfg.Opt]]:
    return OPTIONS
