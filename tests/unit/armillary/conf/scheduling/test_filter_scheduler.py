"""[filter_scheduler] has the defaults that operators know."""

import pytest

from tests.fleets import scheduling_conf


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("ram_weight_multiplier", 1.0),
        ("cpu_weight_multiplier", 1.0),
        ("disk_weight_multiplier", 1.0),
        ("io_ops_weight_multiplier", -1.0),
        ("build_failure_weight_multiplier", 1000000.0),
        ("num_instances_weight_multiplier", 0.0),
        ("pci_weight_multiplier", 1.0),
        ("soft_affinity_weight_multiplier", 1.0),
        ("soft_anti_affinity_weight_multiplier", 1.0),
        ("hypervisor_version_weight_multiplier", 1.0),
        ("cross_cell_move_weight_multiplier", 1000000.0),
        ("image_props_weight_multiplier", 0.0),
        ("image_cache_weight_multiplier", 0.0),
        ("image_props_weight_setting", []),
        ("max_io_ops_per_host", 8),
        ("track_instance_changes", True),
        ("isolated_hosts", []),
        ("isolated_images", []),
        ("restrict_isolated_hosts_to_isolated_images", True),
        ("aggregate_image_properties_isolation_namespace", None),
        ("aggregate_image_properties_isolation_separator", "."),
        ("pci_in_placement", False),
        ("host_subset_size", 1),
        ("shuffle_best_same_weighed_hosts", False),
        ("max_instances_per_host", 50),
        ("image_properties_default_architecture", None),
    ],
)
def test_defaults_are_the_known_ones(name: str, default: object) -> None:
    """A configuration that was made elsewhere means the same here."""
    assert scheduling_conf().filter_scheduler[name] == default


@pytest.mark.parametrize("name", ["host_subset_size", "max_instances_per_host"])
def test_a_bound_below_one_is_refused(name: str) -> None:
    """It would leave no host."""
    with pytest.raises(ValueError, match="Should be greater than or equal to 1"):
        scheduling_conf(**{f"filter_scheduler__{name}": 0})
