"""[compute], [process], [simulated], [pci], and in [DEFAULT] what hosts offer, how they build."""

from __future__ import annotations

from oslo_config import cfg

from armillary.conf import process, simulated


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
        cfg.MultiStrOpt(
            "reserved_huge_pages",
            default=[],
            help="""
Memory pages of a NUMA cell that are kept back for the host itself, as ``node:0,size:2048,count:64``
or ``node:1,size:1GB,count:1``: the cell's number, the size of the pages (KiB, or with a unit), how
many. Their memory is part of ``reserved_host_memory_mb``; what that reserves beyond them is taken
from the ordinary memory of the cells, the first cell first. Give the option several times for
several cells or sizes.
""",
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
            "max_concurrent_live_migrations",
            default=1,
            min=0,
            mutable=True,
            help="""
Live migrations that copy memory away from one host at the same time; the others wait, show the
status ``queued``, and can be aborted meanwhile. 0 is no limit.
""",
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
``simulated`` (any number of hosts on which nothing runs), ``libvirt`` (virtual machines, one host),
or a driver that a plugin installs under ``armillary.compute.drivers``. Several, separated by
commas, work side by side in one agent.
""",
        ),
        cfg.StrOpt(
            "cpu_shared_set",
            help="""
CPUs of this machine that vCPUs share (resource class VCPU), such as ``0-3,8,^2``. Unset: all, or,
when ``cpu_dedicated_set`` is given, none. For the drivers ``process`` and ``libvirt``; workloads
without CPUs of their own run on these alone.
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
        cfg.StrOpt(
            "provider_config_location",
            default="/etc/armillary/provider_config/",
            help="""
Directory of provider configuration files (``*.yaml``): inventories and traits that the hosts of
this agent have beside those that the agent finds out. They are read at its start; with a mistake in
one of them it does not start.
""",
        ),
        cfg.BoolOpt(
            "numa_nodes_in_placement",
            default=False,
            help="""
Whether each NUMA cell of a host is a provider of its own in placement, below the host's, with the
trait ``HW_NUMA_ROOT``. PCI devices that are reported there are below the cell that they are in.
CPUs and memory stay with the host's provider.
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
threads copies guests in live migrations, and another one does all else, deletes among it. Threads
are made when they are needed.
""",
        ),
        cfg.FloatOpt(
            "shutdown_timeout_seconds",
            default=60.0,
            min=0.0,
            max=3600.0,
            mutable=True,
            help="""
Seconds that a workload has to end by itself when it is stopped, rebooted or moved, before it is
ended; zero asks it nothing.
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
plugged into) and ``tags`` (an object of texts). Where devices are reported to placement, also
``resource_class`` (by default ``CUSTOM_PCI_``, vendor, ``_`` and product) and ``traits`` (a text
with commas); both are made upper case, and custom where there is no such standard name. What is
left out matches any device; the first line that matches counts. Give the option several times for
devices of different kinds.
""",
        ),
        cfg.BoolOpt(
            "report_in_placement",
            default=False,
            help="""
Whether PCI devices are providers in placement, below their host's, one for each card (virtual
functions are inventory of theirs), with the trait ``COMPUTE_MANAGED_PCI_DEVICE``. When all agents
do so, ``[filter_scheduler] pci_in_placement`` lets schedulers ask placement for them.
""",
        ),
    ],
    "process": process.OPTIONS,
    "simulated": simulated.OPTIONS,
}


def register_opts(conf: cfg.ConfigOpts) -> None:
    for group, options in OPTIONS.items():
        conf.register_opts(options, group=None if group == "DEFAULT" else group)


def list_opts() -> dict[str, list[cfg.Opt]]:
    return OPTIONS
