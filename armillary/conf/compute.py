"""Options of the compute agent: [compute], [process], [simulated], [pci] and part of [DEFAULT]."""

from oslo_config import cfg

from armillary.conf.drivers import process, simulated


# fmt: off
def _ratio(resource: str, what: str) -> cfg.FloatOpt:
    return cfg.FloatOpt(
        f"{resource}_allocation_ratio", min=0.01, max=1000.0, mutable=True,
        help=f"""
Allocation ratio: number of {what} offered for each one that the host has. If set, it is written to
placement and overrides a value set there by an operator. Unset, the value in placement applies, and
a new host starts with ``initial_{resource}_allocation_ratio``.
""",
    )


def _initial_ratio(resource: str, what: str, default: float) -> cfg.FloatOpt:
    return cfg.FloatOpt(
        f"initial_{resource}_allocation_ratio", default=default, min=0.01, max=1000.0,
        help=f"""
``{resource}_allocation_ratio`` of a host that is new to placement: number of {what} offered for
each one that it has. Make later changes in placement or with ``{resource}_allocation_ratio``.
""",
    )


OPTIONS: dict[str, list[cfg.Opt]] = {
    "DEFAULT": [
        cfg.HostAddressOpt(
            "my_ip", sample_default="<the address of the default route's interface>",
            help=(
                "IP address reported for this machine's hosts. Unset: the address of the "
                "default route's interface."
            ),
        ),
        cfg.BoolOpt(
            "resume_guests_state_on_host_boot", default=False,
            help="""
Whether an agent that starts also starts the guests that ran before and are off: their machine was
rebooted. Otherwise they are reported as stopped. What ended with an exit code stays off.
""",
        ),
        cfg.IntOpt(
            "reserved_host_cpus", default=0, min=0, mutable=True,
            help="CPUs of each host reserved for the host itself; not offered to workloads.",
        ),
        cfg.IntOpt(
            "reserved_host_memory_mb", default=512, min=0, mutable=True,
            help="Memory of each host, in MiB, reserved for the host itself.",
        ),
        cfg.IntOpt(
            "reserved_host_disk_mb", default=0, min=0, mutable=True,
            help="Disk of each host, in MiB, reserved for the host itself; rounded up to GiB.",
        ),
        cfg.MultiStrOpt(
            "reserved_huge_pages", default=[],
            help="""
Memory pages of a NUMA cell reserved for the host itself, as ``node:0,size:2048,count:64`` or
``node:1,size:1GB,count:1``: number of the cell, page size (in KiB, or with a unit), number of
pages. Their memory is part of ``reserved_host_memory_mb``. What that option reserves beyond them is
taken from the ordinary memory of the cells, starting with the first cell. Repeat the option for
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
            "max_concurrent_builds", default=10, min=0, mutable=True,
            help=(
                "Maximum number of concurrent builds on one host; further builds wait. 0 means "
                "no limit."
            ),
        ),
        cfg.IntOpt(
            "max_concurrent_live_migrations", default=1, min=0, mutable=True,
            help="""
Maximum number of live migrations that copy memory from one host at the same time. Further ones wait
with the status ``queued`` and can be aborted meanwhile. 0 means no limit.
""",
        ),
        cfg.IntOpt(
            "max_concurrent_snapshots", default=5, min=0, mutable=True,
            help="""
Maximum number of snapshots that one host stores at the same time; further ones wait. 0 means no
limit.
""",
        ),
        cfg.IntOpt(
            "update_resources_interval", default=0, min=-1,
            help="""
Seconds between two full reports of the hosts' resources and usage. 0 means 60 seconds, -1 turns
them off. Changes by builds and deletes are always reported immediately.
""",
        ),
        cfg.ListOpt(
            "compute_monitors", default=[],
            help="""
Monitors that measure each host for the MetricsFilter and the MetricsWeigher: a comma-separated list
of ``cpu.virt_driver`` (frequency, times and percentages of the CPUs) and monitors that plugins
install under ``armillary.compute.monitors``. Only one monitor of each kind is allowed; the kind is
the part of the name before the dot.
""",
        ),
    ],
    "compute": [
        cfg.ListOpt(
            "driver", default=["process"],
            help="""
Comma-separated list of the drivers that run workloads: ``process`` (operating-system processes on
this machine, one host), ``simulated`` (any number of hosts on which nothing runs), ``libvirt``
(virtual machines, one host), or drivers that plugins install under ``armillary.compute.drivers``.
Several drivers can run side by side in one agent.
""",
        ),
        cfg.IntOpt(
            "guest_overhead_memory_mb", default=0, min=0, max=1_048_576, mutable=True,
            help="""
Memory, in MiB, that the host needs for each guest beside the guest's own (its emulator or shim). It
is reserved in placement for each guest on the host, in addition to ``reserved_host_memory_mb``.
""",
        ),
        cfg.IntOpt(
            "guest_overhead_vcpus", default=0, min=0, max=1024, mutable=True,
            help=(
                "vCPUs that the host needs for each guest beside the guest's own; reserved as "
                "guest_overhead_memory_mb."
            ),
        ),
        cfg.StrOpt(
            "cpu_shared_set",
            help="""
CPUs of this machine that vCPUs share (resource class VCPU), such as ``0-3,8,^2``. Unset: all CPUs,
or none if ``cpu_dedicated_set`` is set. For the drivers ``process`` and ``libvirt``. Workloads
without dedicated CPUs run on these only.
""",
        ),
        cfg.StrOpt(
            "cpu_dedicated_set",
            help="""
CPUs of this machine that are dedicated to one vCPU each (resource class PCPU), such as ``4-15,^8``,
for flavors with ``hw:cpu_policy=dedicated`` or ``mixed``. Must not overlap with ``cpu_shared_set``.
For the drivers ``process`` and ``libvirt``.
""",
        ),
        cfg.StrOpt(
            "provider_config_location", default="/etc/armillary/provider_config/",
            help="""
Directory of provider configuration files (``*.yaml``) with inventories and traits of this agent's
hosts in addition to those that the agent discovers. They are read at startup; the agent does not
start if one of them is invalid.
""",
        ),
        cfg.BoolOpt(
            "numa_nodes_in_placement", default=False,
            help="""
Whether each NUMA cell of a host is a provider of its own in placement, a child of the host's
provider with the trait ``HW_NUMA_ROOT``. PCI devices that are reported to placement are then
children of the cell they belong to. CPUs and memory stay with the host's provider.
""",
        ),
        cfg.BoolOpt(
            "packing_host_numa_cells_allocation_strategy", default=False,
            help="""
Whether guests with a NUMA topology are placed on the fullest of the host's cells that have room,
which keeps the others free for large guests, instead of the emptiest. Schedulers must have the same
value.
""",
        ),
        cfg.StrOpt(
            "journal", default="$state_path/compute-journal.sqlite",
            help="""
Journal file in which the agent records each command before it executes it. Each agent needs its
own, and it must survive restarts.
""",
        ),
        cfg.IntOpt(
            "consecutive_build_service_disable_threshold", default=10, min=0, mutable=True,
            help="""
If 0, failed builds are not counted. With any other value, consecutive failed builds are counted per
host, and the scheduler's BuildFailureWeigher avoids the host. No service is disabled; the option
keeps the name that operators know.
""",
        ),
        cfg.IntOpt(
            "worker_threads", default=100, min=2, max=10000,
            help="""
Maximum number of concurrent builds in one agent, on all its hosts together. A second pool of this
size copies guests during live migrations, a third runs everything else, including deletes. Threads
are created on demand.
""",
        ),
        cfg.FloatOpt(
            "shutdown_timeout_seconds", default=60.0, min=0.0, max=3600.0, mutable=True,
            help="""
Seconds that a workload has to shut down when it is stopped, rebooted or moved, before it is killed.
0 kills it immediately.
""",
        ),
        cfg.FloatOpt(
            "guest_poll_interval_seconds", default=1.0, min=0.1, max=3600.0,
            help="Seconds between two checks for workloads that ended or were paused unasked.",
        ),
        cfg.IntOpt(
            "reconcile_interval_seconds", default=300, min=1, max=86400,
            help="""
Seconds between two reconciliations of what runs on this machine with what the cell conductor
expects. The agent also reconciles at startup, and after the conductor was unreachable for longer
than half of ``service_down_time``.
""",
        ),
        cfg.StrOpt(
            "guest_lease", default="stalled",
            choices=[
                ("off", "Never."),
                ("stalled", "While the agent is stalled, and until the conductor has answered."),
                ("strict", "Also while the agent is stopped or gone, or no conductor answers it."),
            ],
            help="""
When the guests of this agent are held (paused), because the host may count as down and its servers
may run elsewhere. With ``stalled`` an agent that was stalled (a stopped process, a suspended
machine) for half of ``[DEFAULT] service_down_time`` lets its guests continue only after the
conductor has answered; the driver ``process`` holds them meanwhile. An outage of broker or
conductors holds only guests that have just been built here, or moved to this host, and could not be
reported. With ``strict`` guests never run beside evacuated copies, but an outage, or a stop of the
agent, of three quarters of ``service_down_time`` holds all guests of the hosts concerned.
""",
        ),
        cfg.StrOpt(
            "stray_guest_action", default="destroy", mutable=True,
            choices=[
                ("destroy", "Destroy it: its instance was deleted or rebuilt elsewhere."),
                ("keep", "Keep it and log it at each reconciliation."),
            ],
            help="""
What to do with a guest of this agent that the cell conductor does not know on this host. Use
``keep`` while a cell's database is being restored from a backup.
""",
        ),
    ],
    "pci": [
        cfg.MultiStrOpt(
            "alias", default=[],
            help="""
Kinds of PCI devices that flavors may request by name, as ``pci_passthrough:alias=NAME:COUNT``. Each
value is a JSON object with ``name``, ``vendor_id`` and ``product_id`` (four hexadecimal digits),
``device_type`` (``type-PCI``, ``type-PF``, ``type-VF``; unset: any but ``type-PF``) and
``numa_policy``, the required NUMA affinity between the devices and the guest: ``required`` (same
cell), ``socket`` (same socket), ``preferred`` (as near as possible) or ``legacy`` (same cell, or a
device without a cell; the default). If placement tracks PCI devices, also ``resource_class`` and
``traits`` (a comma-separated string), which it matches. Several aliases with the same name are
alternatives. Repeat the option for several kinds. Read by the super conductor.
""",
        ),
        cfg.MultiStrOpt(
            "device_spec", default=[],
            help="""
PCI devices of this machine that workloads may use. Each value is a JSON object, or a list of
them, with ``vendor_id`` and ``product_id`` (four hexadecimal digits, or ``*``), ``address`` (such
as ``0000:06:00.1``, with the wildcards ``*`` and ``?``), ``physical_network`` (the network that the
device is attached to) and ``tags`` (an object with string values). If devices are reported to
placement, also ``resource_class`` (default: ``CUSTOM_PCI_``, vendor, ``_`` and product) and
``traits`` (a comma-separated string). Both are converted to upper case and get the prefix CUSTOM_
unless they are standard names. A missing key matches any device; the first matching entry applies.
Repeat the option for devices of different kinds.
""",
        ),
        cfg.BoolOpt(
            "report_in_placement", default=False,
            help="""
Whether PCI devices are reported to placement as child providers of their host, one provider per
card (virtual functions are its inventory), with the trait ``COMPUTE_MANAGED_PCI_DEVICE``. Once all
agents do this, ``[filter_scheduler] pci_in_placement`` lets schedulers ask placement for them.
""",
        ),
    ],
    "process": process.OPTIONS,
    "simulated": simulated.OPTIONS,
}
