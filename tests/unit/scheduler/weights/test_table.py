"""The weighers that operators know: their scales, options, defaults, signs and aggregate keys."""

import importlib.metadata

import numpy as np
import pytest

from scheduler import weights
from tests.builders import an_aggregate
from tests.fleets import a_host, a_table, scheduling_conf, some_cluster_metadata

# Name, least raw weight that counts, default multiplier as applied, key of aggregate metadata.
TABLE = [
    ("BuildFailureWeigher", None, -1000000.0, "build_failure_weight_multiplier"),
    ("CPUWeigher", 0.0, 1.0, "cpu_weight_multiplier"),
    ("CrossCellWeigher", None, 1000000.0, "cross_cell_move_weight_multiplier"),
    ("DiskWeigher", 0.0, 1.0, "disk_weight_multiplier"),
    ("HypervisorVersionWeigher", None, 1.0, "hypervisor_version_weight_multiplier"),
    ("ImageCacheWeigher", None, 0.0, "image_cache_weight_multiplier"),
    ("ImagePropertiesWeigher", None, 0.0, "image_props_weight_multiplier"),
    ("IoOpsWeigher", 0.0, -1.0, "io_ops_weight_multiplier"),
    ("MetricsWeigher", None, 1.0, "metrics_weight_multiplier"),
    ("NumInstancesWeigher", None, 0.0, "num_instances_weight_multiplier"),
    ("PCIWeigher", None, 1.0, "pci_weight_multiplier"),
    ("ProjectSpreadWeigher", None, 0.0, "project_spread_weight_multiplier"),
    ("RAMWeigher", 0.0, 1.0, "ram_weight_multiplier"),
    ("ServerGroupSoftAffinityWeigher", None, 1.0, "soft_affinity_weight_multiplier"),
    ("ServerGroupSoftAntiAffinityWeigher", None, 1.0, "soft_anti_affinity_weight_multiplier"),
    ("TopologySpreadWeigher", None, 1000.0, "topology_spread_weight_multiplier"),
]
NAMES = [name for name, *_rest in TABLE]
POINTS = importlib.metadata.entry_points(group=weights.NAMESPACE)


@pytest.mark.parametrize(("name", "minval", "multiplier", "key"), TABLE, ids=NAMES)
def test_a_weigher_pulls_as_operators_expect_it(
    name: str, minval: float | None, multiplier: float, key: str
) -> None:
    """An aggregate's number counts with the weigher's sign; one that is none does not."""
    (point,) = POINTS.select(name=name)
    weigher = point.load()(scheduling_conf())
    assert (type(weigher).__name__, weigher.minval, weigher.maxval) == (name, minval, None)
    hosts = a_table(
        [a_host("host1"), a_host("host2"), a_host("host3")],
        cluster_metadata=some_cluster_metadata(
            [
                an_aggregate(hosts=["host2"], metadata={key: "0.5"}),
                an_aggregate(hosts=["host2"], metadata={key: "2.0"}),
                an_aggregate(hosts=["host3"], metadata={key: "abc"}),
            ]
        ),
    )
    overridden = 0.5 * weigher.multiplier_sign
    expected = np.array([multiplier, overridden, multiplier])
    assert weigher.multipliers(hosts).tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["pci", "soft_affinity", "soft_anti_affinity", "topology_spread"])
def test_a_weigher_that_may_not_be_turned_round_is_not(name: str) -> None:
    """Its multiplier is at least 0."""
    with pytest.raises(ValueError, match="Should be greater than or equal to 0"):
        scheduling_conf(**{f"filter_scheduler__{name}_weight_multiplier": -1.0})


def test_by_default_all_of_them_weigh() -> None:
    """Every one of ours, each once."""
    made = weights.load_weighers(scheduling_conf())
    assert sorted(type(weigher).__name__ for weigher in made) == NAMES


@pytest.mark.parametrize(
    "everything",
    ["all_weighers", "scheduler.weights.all_weighers", "nova.scheduler.weights.all_weighers"],
)
def test_all_weighers_stands_for_every_entry_point(everything: str) -> None:
    """Beside a path, or a name that is among them anyway."""
    path = "scheduler.weights.ram_weigher.RAMWeigher"
    conf = scheduling_conf(filter_scheduler__weight_classes=["CPUWeigher", everything, path])
    made = [type(weigher).__name__ for weigher in weights.load_weighers(conf)]
    assert made[:2] == ["CPUWeigher", "RAMWeigher"]
    assert sorted(made) == sorted([*(point.name for point in POINTS), "RAMWeigher"])
