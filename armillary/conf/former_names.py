"""Names of options in Nova's documents: what they are called here, and what replaced them."""

from collections.abc import Iterator, Mapping, Sequence

from oslo_config import cfg

Name = tuple[str, str]
"""Group and option."""

_OLD_SCHEDULER = {
    f"scheduler_{name}": ("filter_scheduler", new)
    for name, new in {
        "available_filters": "available_filters",
        "default_filters": "enabled_filters",
        "weight_classes": "weight_classes",
        "host_subset_size": "host_subset_size",
        "tracks_instance_changes": "track_instance_changes",
    }.items()
}
_FILTER_SCHEDULER = (
    "max_io_ops_per_host", "max_instances_per_host", "isolated_hosts", "isolated_images",
    "restrict_isolated_hosts_to_isolated_images", "ram_weight_multiplier",
    "disk_weight_multiplier", "cpu_weight_multiplier", "io_ops_weight_multiplier",
    "soft_affinity_weight_multiplier", "soft_anti_affinity_weight_multiplier",
    "aggregate_image_properties_isolation_namespace",
    "aggregate_image_properties_isolation_separator",
)  # fmt: skip
_PLACEMENT_CLIENT = (
    "auth_url", "auth_type", "auth_section", "username", "password", "user_domain_name",
    "project_name", "project_domain_name", "region_name", "service_type", "service_name",
    "endpoint_override", "valid_interfaces", "timeout", "connect_retries",
    "connect_retry_delay", "status_code_retries", "status_code_retry_delay",
    "cafile", "certfile", "keyfile", "insecure",
)  # fmt: skip
_QUOTAS = (
    "instances", "cores", "ram", "server_groups", "server_group_members", "metadata_items",
    "key_pairs",
)  # fmt: skip

RENAMED: Mapping[Name, Name] = {
    **{("DEFAULT", old): new for old, new in _OLD_SCHEDULER.items()},
    **{("DEFAULT", name): ("filter_scheduler", name) for name in _FILTER_SCHEDULER},
    **{("DEFAULT", f"quota_{name}"): ("quota", name) for name in _QUOTAS},
    ("DEFAULT", "scheduler_driver"): ("scheduler", "driver"),
    ("DEFAULT", "scheduler_max_attempts"): ("scheduler", "max_attempts"),
    ("DEFAULT", "scheduler_driver_task_period"): ("scheduler", "periodic_task_interval"),
    ("DEFAULT", "scheduler_instance_sync_interval"): (
        "scheduler", "scheduler_instance_sync_interval",
    ),
    ("scheduler", "discover_hosts_in_cells_interval"): (
        "conductor", "discover_hosts_interval_seconds",
    ),
    ("filter_scheduler", "default_filters"): ("filter_scheduler", "enabled_filters"),
    ("filter_scheduler", "tracks_instance_changes"): (
        "filter_scheduler", "track_instance_changes",
    ),
    ("DEFAULT", "rpc_response_timeout"): ("rpc", "response_timeout_seconds"),
    ("DEFAULT", "long_rpc_timeout"): ("rpc", "long_timeout_seconds"),
    ("DEFAULT", "osapi_compute_listen"): ("api", "bind_host"),
    ("DEFAULT", "osapi_compute_listen_port"): ("api", "bind_port"),
    ("DEFAULT", "osapi_compute_workers"): ("api", "workers"),
    ("DEFAULT", "osapi_max_limit"): ("api", "max_limit"),
    ("DEFAULT", "osapi_compute_link_prefix"): ("api", "compute_link_prefix"),
    ("DEFAULT", "auth_strategy"): ("api", "auth_strategy"),
    ("DEFAULT", "compute_driver"): ("compute", "driver"),
    ("DEFAULT", "sync_power_state_interval"): ("compute", "reconcile_interval_seconds"),
    ("DEFAULT", "running_deleted_instance_action"): ("compute", "stray_guest_action"),
    ("DEFAULT", "shutdown_timeout"): ("compute", "shutdown_timeout_seconds"),
    ("DEFAULT", "instances_path"): ("libvirt", "instances_path"),
    ("DEFAULT", "force_config_drive"): ("libvirt", "force_config_drive"),
    ("DEFAULT", "image_cache_manager_interval"): ("image_cache", "manager_interval"),
    ("DEFAULT", "remove_unused_base_images"): ("image_cache", "remove_unused_base_images"),
    ("DEFAULT", "remove_unused_original_minimum_age_seconds"): (
        "image_cache", "remove_unused_original_minimum_age_seconds",
    ),
    ("DEFAULT", "default_notification_level"): ("notifications", "default_level"),
    ("DEFAULT", "notify_on_state_change"): ("notifications", "notify_on_state_change"),
    ("DEFAULT", "notification_format"): ("notifications", "notification_format"),
    ("DEFAULT", "pci_alias"): ("pci", "alias"),
    ("DEFAULT", "pci_passthrough_whitelist"): ("pci", "device_spec"),
    ("pci", "passthrough_whitelist"): ("pci", "device_spec"),
}  # fmt: skip
"""Former name -> name. A value may have to be translated for those in ``TRANSLATED``."""

TRANSLATED = frozenset({("compute", "driver"), ("compute", "stray_guest_action")})
"""Options whose values are words of their own here, so that a former name is not read."""

_NO_CLIENT = "services ask placement over the broker ([rpc] response_timeout_seconds)"
_NO_NETWORK = "there are no networks and no volumes"
_RECONCILED = (
    "[compute] reconcile_interval_seconds is how often an agent compares guests and records"
)
_RESUMED = "an operation ends or is resumed by its conductor ([conductor] lease_seconds)"
_MERGED = "lists are merged from all cells, page by page"

REPLACED: Mapping[Name, str] = {
    ("scheduler", "query_placement_for_availability_zone"): "placement is always asked",
    ("scheduler", "host_manager"): "there is one host table",
    ("DEFAULT", "scheduler_host_manager"): "there is one host table",
    ("DEFAULT", "scheduler_use_baremetal_filters"): "there are no bare metal filters",
    ("DEFAULT", "use_neutron"): "no network service is needed",
    ("DEFAULT", "enabled_apis"): "there is one API",
    ("DEFAULT", "metadata_workers"): "there is no metadata service",
    ("DEFAULT", "rootwrap_config"): "nothing runs as root on behalf of a service",
    **{
        (
            "database",
            name,
        ): "each database has a group: [cell_database] in a cell conductor's file, "
        "[cell0_database] and [api_database] in a super conductor's, [placement_database]"
        for name in ("connection", "max_pool_size", "pool_timeout", "max_retries")
    },
    **{("placement", name): _NO_CLIENT for name in _PLACEMENT_CLIENT},
    ("quota", "driver"): "limits are counted in the API database; -1 turns one off",
    ("conductor", "migrate_max_retries"): "all hosts of the list are tried",
    ("quota", "recheck_quota"): "quota is counted where a request is accepted",
    ("DEFAULT", "instance_name_template"): "guests of libvirt are called instance-UUID",
    ("DEFAULT", "periodic_fuzzy_delay"): "periodic tasks have a jitter of their own",
    ("DEFAULT", "manager_shutdown_timeout"): "graceful_shutdown_timeout is for the whole stop",
    ("DEFAULT", "sync_power_state_pool_size"): "all guests of a host are compared in one pass",
    ("DEFAULT", "running_deleted_instance_poll_interval"): _RECONCILED,
    ("DEFAULT", "running_deleted_instance_timeout"): _RECONCILED,
    ("DEFAULT", "instance_delete_interval"): "deletes are resumed by their conductor immediately",
    ("DEFAULT", "shelved_poll_interval"): "servers are offloaded once shelved_offload_time is over",
    ("DEFAULT", "heal_instance_info_cache_interval"): _NO_NETWORK,
    ("DEFAULT", "volume_usage_poll_interval"): _NO_NETWORK,
    ("DEFAULT", "instance_build_timeout"): _RESUMED,
    ("DEFAULT", "reboot_timeout"): _RESUMED,
    ("DEFAULT", "rescue_timeout"): _RESUMED,
    ("DEFAULT", "internal_service_availability_zone"): "only hosts have a zone",
    ("DEFAULT", "instance_usage_audit"): "usage is asked of os-simple-tenant-usage",
    ("compute", "resource_provider_association_refresh"): "placement has aggregates and traits; "
    "agents need no copy",
    ("compute", "sharing_providers_max_uuids_per_request"): "agents do not ask for providers",
    ("compute", "image_type_exclude_list"): "a host reports the image types of its driver",
    ("upgrade_levels", "baseapi"): "every interface has its own version",
    ("notifications", "bdms_in_notifications"): _NO_NETWORK,
    ("workarounds", "skip_hypervisor_version_check_on_lm"): "the destination's libvirt decides",
    ("workarounds", "optimize_for_wide_provider_trees"): "trees of one class are searched once",
    ("api", "list_records_by_skipping_down_cells"): "a cell that does not answer is left out, and "
    "its servers are shown as UNKNOWN",
    ("api", "instance_list_per_project_cells"): _MERGED,
    ("api", "instance_list_cells_batch_strategy"): _MERGED,
    ("api", "instance_list_cells_batch_fixed_size"): _MERGED,
}
"""Options that do not exist here, and what is there in their place."""


def attach(group: str, options: Sequence[cfg.Opt]) -> None:
    """Let options be read by their former names, too. Idempotent."""
    for option in options:
        name = group, option.dest
        if name not in TRANSLATED and not option.deprecated_opts:
            olds = [old for old, new in RENAMED.items() if new == name]
            option.deprecated_opts = [cfg.DeprecatedOpt(old, group=place) for place, old in olds]


def is_known(name: Name) -> bool:
    """Return whether this is a former or a replaced name."""
    return name in RENAMED or name in REPLACED


def warnings_of(given: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a warning for each former or replaced name; ``given`` are names in a file by group."""
    for group, names in given.items():
        for name in sorted(names):
            new = RENAMED.get((group, name))
            if (group, name) in REPLACED:
                yield f"[{group}] {name} has no effect: {REPLACED[group, name]}"
            elif new in TRANSLATED:
                yield f"[{group}] {name} has no effect: set [{new[0]}] {new[1]}"
            elif new is not None:
                yield f"[{group}] {name} is deprecated: it is called [{new[0]}] {new[1]} now"
