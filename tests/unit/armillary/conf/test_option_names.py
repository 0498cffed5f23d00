"""Every option that the documents of Nova and Placement name is there, or its successor is."""

from collections.abc import Container

import pytest
from oslo_config import cfg
from oslo_log import log as oslo_log
from oslo_messaging import conffixture
from oslo_service import opts as service_opts

from armillary.conf import former_names, register_all

NAMES = {
    "DEFAULT": """
        host my_ip state_path transport_url control_exchange rpc_response_timeout
        long_rpc_timeout report_interval service_down_time servicegroup_driver
        enable_new_services periodic_enable periodic_fuzzy_delay graceful_shutdown_timeout
        manager_shutdown_timeout cpu_allocation_ratio ram_allocation_ratio disk_allocation_ratio
        initial_cpu_allocation_ratio initial_ram_allocation_ratio initial_disk_allocation_ratio
        reserved_host_cpus reserved_host_memory_mb reserved_host_disk_mb reserved_huge_pages
        update_resources_interval scheduler_instance_sync_interval sync_power_state_interval
        sync_power_state_pool_size running_deleted_instance_poll_interval
        running_deleted_instance_timeout running_deleted_instance_action instance_delete_interval
        shelved_poll_interval shelved_offload_time heal_instance_info_cache_interval
        volume_usage_poll_interval resize_confirm_window instance_build_timeout
        reclaim_instance_interval reboot_timeout rescue_timeout allow_resize_to_same_host
        max_concurrent_builds max_concurrent_snapshots max_concurrent_live_migrations
        compute_monitors default_availability_zone internal_service_availability_zone
        default_schedule_zone instance_usage_audit workers debug log_file use_json
    """,
    "scheduler": """
        max_attempts max_placement_results workers discover_hosts_in_cells_interval
        limit_tenants_to_placement_aggregate placement_aggregate_required_for_tenants
        query_placement_for_image_type_support enable_isolated_aggregate_filtering
        image_metadata_prefilter query_placement_for_routed_network_aggregates driver
        host_manager periodic_task_interval query_placement_for_availability_zone
    """,
    "conductor": """
        workers migrate_max_retries
    """,
    "compute": """
        consecutive_build_service_disable_threshold resource_provider_association_refresh
        sharing_providers_max_uuids_per_request provider_config_location cpu_shared_set
        cpu_dedicated_set image_type_exclude_list packing_host_numa_cells_allocation_strategy
    """,
    "quota": """
        driver instances cores ram server_groups server_group_members recheck_quota
        count_usage_from_placement
    """,
    "upgrade_levels": """
        compute scheduler conductor baseapi
    """,
    "notifications": """
        notification_format notify_on_state_change versioned_notifications_topics default_level
        bdms_in_notifications
    """,
    "pci": """
        alias device_spec report_in_placement
    """,
    "workarounds": """
        disable_group_policy_check_upcall disable_fallback_pcpu_query
        disable_compute_service_check_for_ffu skip_hypervisor_version_check_on_lm
        optimize_for_wide_provider_trees
    """,
    "api": """
        max_limit list_records_by_skipping_down_cells instance_list_per_project_cells
        instance_list_cells_batch_strategy instance_list_cells_batch_fixed_size auth_strategy
    """,
    "database": """
        connection max_pool_size pool_timeout max_retries
    """,
    "api_database": """
        connection max_pool_size pool_timeout max_retries
    """,
    "placement_database": """
        connection max_pool_size pool_timeout max_retries sync_on_startup
    """,
    "placement": """
        auth_url auth_type username password project_name endpoint_override timeout
        connect_retries valid_interfaces randomize_allocation_candidates
        max_allocation_candidates allocation_candidates_generation_strategy
        allocation_conflict_retry_count incomplete_consumer_project_id
        incomplete_consumer_user_id
    """,
    "filter_scheduler": """
        available_filters enabled_filters weight_classes host_subset_size
        shuffle_best_same_weighed_hosts max_io_ops_per_host max_instances_per_host
        track_instance_changes isolated_hosts isolated_images
        restrict_isolated_hosts_to_isolated_images image_properties_default_architecture
        aggregate_image_properties_isolation_namespace
        aggregate_image_properties_isolation_separator pci_in_placement ram_weight_multiplier
        cpu_weight_multiplier disk_weight_multiplier io_ops_weight_multiplier
        num_instances_weight_multiplier pci_weight_multiplier soft_affinity_weight_multiplier
        soft_anti_affinity_weight_multiplier build_failure_weight_multiplier
        cross_cell_move_weight_multiplier hypervisor_version_weight_multiplier
        image_props_weight_multiplier image_props_weight_setting
    """,
    "metrics": """
        weight_multiplier weight_setting required weight_of_unavailable
    """,
}
"""Group -> options, as the references of their configuration have them."""


@pytest.fixture(scope="module")
def conf() -> cfg.ConfigOpts:
    """Return all options, those of libraries too."""
    conf = cfg.ConfigOpts()
    conffixture.ConfFixture(conf)
    register_all(conf)
    service_opts.register_service_opts(conf)
    oslo_log.register_options(conf)
    return conf


def test_each_name_is_an_option_or_has_a_successor(conf: cfg.ConfigOpts) -> None:
    """Whose file has it is told at the start what it is called here, or what replaces it."""
    missing = [
        f"[{group}] {name}"
        for group, names in NAMES.items()
        for name in names.split()
        if name not in _options(conf, group) and not former_names.is_known((group, name))
    ]
    assert missing == []


def _options(conf: cfg.ConfigOpts, group: str) -> Container[str]:
    if group == "DEFAULT":
        return conf
    return conf[group] if group in set(conf) else ()
