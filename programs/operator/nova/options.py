"""Options of Nova's configuration: the names of ours, and what has none."""

from collections.abc import Mapping

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
    ("DEFAULT", "default_notification_level"): ("notifications", "default_level"),
    ("DEFAULT", "notify_on_state_change"): ("notifications", "notify_on_state_change"),
    ("DEFAULT", "notification_format"): ("notifications", "notification_format"),
    ("DEFAULT", "pci_alias"): ("pci", "alias"),
    ("DEFAULT", "pci_passthrough_whitelist"): ("pci", "device_spec"),
    ("pci", "passthrough_whitelist"): ("pci", "device_spec"),
    ("libvirt", "cpu_models"): ("libvirt", "cpu_model"),
}  # fmt: skip
"""Where an option has another place here, deprecated names of Nova's included."""

_PLACE = "the directories of Armillary are its own"
_STORE = (
    "Armillary has databases of its own, which must be new and empty: give each owner its "
    "connection in [api_database], [cell0_database], [cell_database] or [placement_database]"
)

UNDECIDED: Mapping[Name, str] = {
    ("api_database", "connection"): _STORE,
    ("database", "connection"): _STORE,
    ("placement_database", "connection"): _STORE,
    ("DEFAULT", "transport_url"): "give each cell and the top a virtual host of their own on this "
    "broker, and accounts: armillary-manage broker permissions",
    ("DEFAULT", "vcpu_pin_set"): "say which CPUs are shared and which are for pinned guests: "
    "[compute] cpu_shared_set, cpu_dedicated_set",
    ("DEFAULT", "log_config_append"): "check the file: the loggers have other names",
    ("oslo_policy", "policy_file"): "check the file: etc/policy.yaml.sample lists our rules, which "
    "have Nova's names where the API is the same",
    ("libvirt", "rbd_secret_uuid"): "images are files on the hosts; there is no Ceph driver",
    ("quota", "driver"): "limits are counted from our own records; for none, set them to -1",
}
"""Options that a person has to look at, and why."""

DROPPED: Mapping[Name, str] = {
    ("DEFAULT", "state_path"): _PLACE,
    ("DEFAULT", "log_dir"): _PLACE,
    ("DEFAULT", "log_file"): _PLACE,
    ("DEFAULT", "lock_path"): _PLACE,
    ("oslo_concurrency", "lock_path"): _PLACE,
    ("compute", "provider_config_location"): _PLACE,
    ("scheduler", "query_placement_for_availability_zone"): "placement is always asked",
    ("scheduler", "host_manager"): "there is one host table",
    ("DEFAULT", "scheduler_host_manager"): "there is one host table",
    ("DEFAULT", "scheduler_use_baremetal_filters"): "there are no bare metal filters",
    ("DEFAULT", "use_neutron"): "no network service is needed",
    ("DEFAULT", "enabled_apis"): "there is one API",
    ("DEFAULT", "metadata_workers"): "there is no metadata service",
    ("DEFAULT", "rootwrap_config"): "nothing runs as root on behalf of a service",
    ("DEFAULT", "servicegroup_driver"): "services report to their conductor",
    ("conductor", "migrate_max_retries"): "all hosts of the list are tried",
    ("quota", "recheck_quota"): "quota is counted where a request is accepted",
    ("quota", "count_usage_from_placement"): "quota is counted where a request is accepted",
    ("placement", "auth_url"): "our services ask placement over the broker",
}
DROPPED_GROUPS: Mapping[str, str] = {
    **dict.fromkeys(("neutron", "cinder", "barbican", "ironic", "cyborg", "key_manager", "manila"),
                    "Armillary does not use this service"),
    "glance": "images are kept by the API itself",
    **dict.fromkeys(("vnc", "spice", "rdp", "serial_console", "mks", "console"),
                    "there are no graphical consoles"),
    **dict.fromkeys(("keystone", "service_user"), "our services do not call Keystone themselves"),
    "placement": "our services ask placement over the broker",
    "upgrade_levels": "names of Nova's releases mean nothing here; see docs/operating/upgrade.md",
    **dict.fromkeys(("cells", "zookeeper", "osapi_v21", "remote_debug",
                     "ephemeral_storage_encryption", "vmware", "hyperv", "xenserver",
                     "powervm", "zvm"),
                    "Armillary has no such part"),
    "wsgi": "the HTTP server has options of its own in [api]",
    "cache": "nothing is cached outside of the processes",
}  # fmt: skip
"""Options and groups without a counterpart, and why."""

LIBRARY_GROUPS = frozenset(
    {"keystone_authtoken", "oslo_messaging_rabbit", "oslo_messaging_notifications",
     "oslo_middleware", "oslo_policy", "oslo_reports", "profiler"}
)  # fmt: skip
"""Groups of libraries that both use, with the same options."""
LIBRARY_OPTIONS = frozenset(
    {"debug", "use_syslog", "syslog_log_facility", "use_journal", "use_stderr", "use_json",
     "default_log_levels", "log_date_format", "logging_context_format_string",
     "logging_default_format_string", "control_exchange", "executor_thread_pool_size",
     "graceful_shutdown_timeout", "backdoor_port"}
)  # fmt: skip
"""Their options in [DEFAULT]."""

NO_REASON = "no part of Armillary reads it"
