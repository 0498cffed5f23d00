"""Programs that read each option: the table behind the sample configuration of each program.

A test runs a deployment and compares what each program reads with this table, so an option that is
new, or read in a new place, has to be entered here.
"""

API, COMPUTE, CONDUCTOR = "api", "compute", "conductor"
PLACEMENT, SCHEDULER = "placement", "scheduler"

PROGRAMS = (API, COMPUTE, CONDUCTOR, PLACEMENT, SCHEDULER)
"""Programs with a sample configuration, as in ``armillary-<program>``."""

Readers = tuple[str, ...]

_NOTIFYING: Readers = (COMPUTE, CONDUCTOR, SCHEDULER)

GROUPS: dict[str, Readers] = {
    "DEFAULT": PROGRAMS,
    "api_database": (CONDUCTOR,),
    "cell_database": (CONDUCTOR,),
    "cell0_database": (CONDUCTOR,),
    "placement_database": (PLACEMENT,),
    "rpc": (API, COMPUTE, CONDUCTOR, SCHEDULER),
    "upgrade_levels": (CONDUCTOR,),
    "signing": PROGRAMS,
    "api": (API,),
    "console": (API,),
    "identity": (API,),
    "image": (API,),
    "glance": (API, COMPUTE),
    "image_cache": (COMPUTE,),
    "scheduler": (SCHEDULER,),
    "filter_scheduler": (SCHEDULER,),
    "zones": (CONDUCTOR, SCHEDULER),
    "trusted_computing": (SCHEDULER,),
    "claims": (SCHEDULER,),
    "accelerators": (SCHEDULER,),
    "workarounds": (SCHEDULER,),
    "conductor": (CONDUCTOR,),
    "servicegroup": (CONDUCTOR,),
    "cell": (CONDUCTOR,),
    "compute": (COMPUTE,),
    "pci": (COMPUTE,),
    "process": (COMPUTE,),
    "simulated": (COMPUTE,),
    "libvirt": (COMPUTE,),
    "serial_console": (COMPUTE,),
    "quota": (CONDUCTOR,),
    "placement": (PLACEMENT,),
    "metrics": (SCHEDULER,),
    "tracing": PROGRAMS,
    "notifications": _NOTIFYING,
    "audit": PROGRAMS,
}
"""Group -> programs that read its options, other than those of ``OPTIONS``."""

_OF_CONDUCTORS = (
    "default_schedule_zone", "enable_new_services", "servicegroup_driver",
    "allow_resize_to_same_host", "resize_confirm_window", "reclaim_instance_interval",
    "shelved_offload_time",
)  # fmt: skip
_OF_AGENTS = (
    "my_ip", "resume_guests_state_on_host_boot",
    "reserved_host_cpus", "reserved_host_memory_mb", "reserved_host_disk_mb", "reserved_huge_pages",
    "cpu_allocation_ratio", "ram_allocation_ratio", "disk_allocation_ratio",
    "initial_cpu_allocation_ratio", "initial_ram_allocation_ratio",
    "initial_disk_allocation_ratio", "max_concurrent_builds", "max_concurrent_live_migrations",
    "max_concurrent_snapshots", "update_resources_interval", "compute_monitors",
)  # fmt: skip
"""Options of [DEFAULT] that only these read."""

OPTIONS: dict[tuple[str, str], Readers] = {
    ("DEFAULT", "workers"): (API, CONDUCTOR, PLACEMENT, SCHEDULER),
    ("DEFAULT", "default_availability_zone"): (CONDUCTOR, SCHEDULER),
    **{("DEFAULT", name): (CONDUCTOR,) for name in _OF_CONDUCTORS},
    **{("DEFAULT", name): (COMPUTE,) for name in _OF_AGENTS},
    ("upgrade_levels", "cell_conductor"): (COMPUTE, CONDUCTOR),
    ("upgrade_levels", "conductor"): (API, CONDUCTOR, SCHEDULER),
    ("upgrade_levels", "placement"): (CONDUCTOR, SCHEDULER),
    ("api", "auth_strategy"): (API, PLACEMENT),
    ("api", "token_file"): (API, PLACEMENT),
    ("api", "allowed_hosts"): (API, PLACEMENT),
    ("api", "allow_network_without_authentication"): (API, PLACEMENT),
    ("api", "compute_link_prefix"): (API, PLACEMENT),
    ("identity", "state_dir"): (API, PLACEMENT),
    ("serial_console", "enabled"): (API, COMPUTE),
    ("serial_console", "base_url"): (API,),
    ("serial_console", "api_url"): (API,),
    ("serial_console", "key_file"): (API,),
    ("identity", "token_lifetime_seconds"): (API, PLACEMENT),
    ("zones", "push_seconds"): (SCHEDULER,),
    ("zones", "select_timeout_seconds"): (SCHEDULER,),
    ("zones", "expiry_factor"): (SCHEDULER,),
    ("zones", "offline_factor"): (SCHEDULER,),
    ("zones", "weighing_profile"): (SCHEDULER,),
    ("zones", "attempt_timeout_seconds"): (CONDUCTOR,),
    ("zones", "reconcile_timeout_seconds"): (CONDUCTOR,),
    ("zones", "forward_timeout_seconds"): (CONDUCTOR,),
    ("rpc", "long_timeout_seconds"): (CONDUCTOR,),
    ("signing", "push_seconds"): (CONDUCTOR,),
    ("scheduler", "in_process"): (CONDUCTOR, SCHEDULER),
    ("scheduler", "max_attempts"): (CONDUCTOR, SCHEDULER),
    ("scheduler", "scheduler_instance_sync_interval"): (CONDUCTOR,),
    ("scheduler", "trace_retention_hours"): (CONDUCTOR,),
    ("filter_scheduler", "track_instance_changes"): (CONDUCTOR, SCHEDULER),
    ("workarounds", "disable_compute_service_check_for_ffu"): (CONDUCTOR,),
    ("workarounds", "disable_group_policy_check_upcall"): (COMPUTE,),
    ("compute", "packing_host_numa_cells_allocation_strategy"): (COMPUTE, SCHEDULER),
    ("cell", "uuid"): (COMPUTE, CONDUCTOR),
    ("pci", "alias"): (CONDUCTOR,),
    ("image_cache", "precache_concurrency"): (CONDUCTOR,),
    ("image_cache", "precache_timeout_seconds"): (CONDUCTOR,),
    **{
        ("image", name): (API, COMPUTE)
        for name in ("store_path", "size_bytes_max", "store_bytes_max")
    },
    **{("image", name): (CONDUCTOR,) for name in ("endpoint", "ticket_lifetime_seconds")},
    **{
        ("image", name): (COMPUTE,)
        for name in ("cafile", "request_timeout_seconds", "retry_seconds_max")
    },
    ("metrics", "port"): PROGRAMS,
    ("metrics", "listen"): PROGRAMS,
    ("notifications", "notification_format"): (API, *_NOTIFYING),
    ("notifications", "event_feed"): (API, *_NOTIFYING),
    ("notifications", "followers_max"): (API,),
    ("notifications", "follower_queue_size_max"): (API,),
}
"""Group and option -> programs that read it, where they are not those of the group."""


def readers_of(group: str, option: str) -> Readers:
    """Return the programs that read an option; ``option`` with underscores."""
    return OPTIONS.get((group, option)) or GROUPS[group]
