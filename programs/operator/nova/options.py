"""Options of Nova's configuration: the names of ours, and what has none."""

from collections.abc import Mapping

from armillary.conf.former_names import REPLACED, Name

_PLACE = "the directories of Armillary are its own"
_NO_METADATA = "there is no metadata service"
_STORE = (
    "Armillary has databases of its own, which must be new and empty: give each owner its "
    "connection in [api_database], [cell0_database], [cell_database] or [placement_database]"
)

UNDECIDED: Mapping[Name, str] = {
    ("api_database", "connection"): _STORE,
    ("database", "connection"): _STORE,
    ("placement_database", "connection"): _STORE,
    ("DEFAULT", "sql_connection"): _STORE,
    ("DEFAULT", "notification_driver"): "set [oslo_messaging_notifications] driver, such as "
    "messagingv2",
    ("DEFAULT", "transport_url"): "give each cell and the top a virtual host of their own on this "
    "broker, and accounts: armillary-manage broker permissions",
    ("DEFAULT", "vcpu_pin_set"): "say which CPUs are shared and which are for pinned guests: "
    "[compute] cpu_shared_set, cpu_dedicated_set",
    ("DEFAULT", "log_config_append"): "check the file: the loggers have other names",
    ("oslo_policy", "policy_file"): "check the file: etc/policy.yaml.sample lists our rules, which "
    "have Nova's names where the API is the same",
    ("serial_console", "enabled"): "make a key with armillary-serialproxy --make-key FILE, set "
    "[serial_console] key_file for the API, and start armillary-serialproxy with it",
    ("quota", "driver"): "limits are counted from our own records; for none, set them to -1",
}
"""Options that a person has to look at, and why."""

RENAMED: Mapping[Name, Name] = {
    ("database", name): ("cell_database", name)
    for name in (
        "connection_recycle_time", "max_overflow", "max_pool_size", "max_retries", "pool_timeout",
    )
}  # fmt: skip
"""What is true of a nova.conf alone: its [database] is that of the cell."""

DROPPED: Mapping[Name, str] = {
    ("DEFAULT", "state_path"): _PLACE,
    ("DEFAULT", "log_dir"): _PLACE,
    ("DEFAULT", "logdir"): _PLACE,
    ("DEFAULT", "log_file"): _PLACE,
    ("DEFAULT", "lock_path"): _PLACE,
    ("oslo_concurrency", "lock_path"): _PLACE,
    ("compute", "provider_config_location"): _PLACE,
    **REPLACED,
    ("DEFAULT", "instance_usage_audit_period"): REPLACED["DEFAULT", "instance_usage_audit"],
    ("DEFAULT", "rpc_backend"): "the broker is RabbitMQ",
    ("DEFAULT", "verbose"): "[DEFAULT] debug says how much is logged",
    ("api", "vendordata_jsonfile_path"): _NO_METADATA,
    ("api", "vendordata_providers"): _NO_METADATA,
    ("api", "vendordata_dynamic_targets"): _NO_METADATA,
    ("oslo_messaging_rabbit", "heartbeat_in_pthread"): "heartbeats have a thread of their own",
    ("placement", "auth_url"): "our services ask placement over the broker",
}
DROPPED_GROUPS: Mapping[str, str] = {
    **dict.fromkeys(("neutron", "cinder", "barbican", "barbican_service_user", "ironic", "cyborg",
                     "key_manager", "manila"),
                    "Armillary does not use this service"),
    "glance": "images are kept by the API itself; for a Glance, set [glance] auth_type and a login",
    **dict.fromkeys(("vnc", "spice", "rdp", "mks", "console"), "there are no graphical consoles"),
    **dict.fromkeys(("os_vif_ovs", "os_vif_linux_bridge", "vif_plug_ovs_privileged",
                     "vif_plug_linux_bridge_privileged"),
                    "Armillary makes no networks"),
    **dict.fromkeys(("privsep", "privsep_entrypoint", "nova_sys_admin"),
                    "nothing runs as root on behalf of a service"),
    "devices": "virtual GPUs of mediated devices are not offered to guests",
    "metadata": _NO_METADATA,
    "profiler": "traces are OpenTelemetry's: [tracing]",
    "guestfs": "no files are written into images of guests",
    "serial_console": "armillary-serialproxy has options of its own: armillary-serialproxy --help",
    **dict.fromkeys(("keystone", "service_user"), "our services do not call Keystone themselves"),
    "placement": "our services ask placement over the broker",
    **dict.fromkeys(("cells", "zookeeper", "osapi_v21", "remote_debug",
                     "ephemeral_storage_encryption", "vmware", "hyperv", "xenserver",
                     "powervm", "zvm"),
                    "Armillary has nothing that these options would configure"),
    "wsgi": "the HTTP server has options of its own in [api]",
    "cache": "nothing is cached outside of the processes",
}  # fmt: skip
"""Options and groups without a counterpart, and why."""

_BROKER = "give the broker's address and account in a transport URL"
_RABBIT = (
    "rabbit_host", "rabbit_hosts", "rabbit_port", "rabbit_userid", "rabbit_password",
    "rabbit_virtual_host", "rabbit_use_ssl", "rabbit_max_retries", "fake_rabbit",
)  # fmt: skip
_LOGIN = "log in by auth_type, auth_url, username, password, project_name and their domains"
REMOVED: Mapping[str, Mapping[str, str]] = {
    "DEFAULT": dict.fromkeys(_RABBIT, _BROKER),
    "oslo_messaging_rabbit": dict.fromkeys(_RABBIT, _BROKER),
    "keystone_authtoken": dict.fromkeys(
        ("auth_host", "auth_port", "auth_protocol", "auth_admin_prefix", "identity_uri",
         "admin_token", "admin_user", "admin_password", "admin_tenant_name", "signing_dir"),
        _LOGIN,
    ) | {"auth_uri": "give the public address of Keystone as www_authenticate_uri"},
}  # fmt: skip
"""Options that newer versions of these libraries do not have any more, and what to do instead."""
LIBRARY_GROUPS = frozenset(
    {"cors", "keystone_authtoken", "oslo_messaging_rabbit", "oslo_messaging_notifications",
     "oslo_middleware", "oslo_policy", "oslo_reports"}
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
