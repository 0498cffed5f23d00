"""When each filter is asked: once a request or for every instance, and for a rebuild or not."""

import importlib.metadata

import pytest

from scheduler import filters

# Name, once a request, on rebuild: as operators know them.
TABLE = [
    ("AggregateCoreFilter", False, False),
    ("AggregateDiskFilter", False, False),
    ("AggregateImagePropertiesIsolation", True, True),
    ("AggregateInstanceExtraSpecsFilter", True, False),
    ("AggregateIoOpsFilter", False, False),
    ("AggregateMultiTenancyIsolation", True, False),
    ("AggregateNumInstancesFilter", False, False),
    ("AggregateRamFilter", False, False),
    ("AggregateTypeAffinityFilter", True, False),
    ("AllHostsFilter", True, False),
    ("AvailabilityZoneFilter", True, False),
    ("ComputeCapabilitiesFilter", True, False),
    ("ComputeFilter", True, False),
    ("CoreFilter", False, False),
    ("DifferentHostFilter", True, False),
    ("DiskFilter", False, False),
    ("ExactCoreFilter", False, False),
    ("ExactDiskFilter", False, False),
    ("ExactRamFilter", False, False),
    ("ImagePropertiesFilter", True, True),
    ("IoOpsFilter", False, False),
    ("IsolatedHostsFilter", True, True),
    ("JsonFilter", False, False),
    ("MetricsFilter", False, False),
    ("NUMATopologyFilter", False, False),
    ("NumInstancesFilter", False, False),
    ("PciPassthroughFilter", False, False),
    ("RamFilter", False, False),
    ("RetryFilter", False, False),
    ("SameHostFilter", True, False),
    ("ServerGroupAffinityFilter", False, False),
    ("ServerGroupAntiAffinityFilter", False, False),
    ("SimpleCIDRAffinityFilter", True, False),
    ("TopologySpreadFilter", False, False),
    ("TrustedFilter", True, False),
    ("TypeAffinityFilter", False, False),
]

POINTS = importlib.metadata.entry_points(group=filters.NAMESPACE)
INSTALLED = {point.name: point.value for point in POINTS if point.value.startswith("scheduler.")}


@pytest.mark.parametrize(
    ("name", "is_once", "is_on_rebuild"), TABLE, ids=[name for name, *_flags in TABLE]
)
def test_a_filter_is_asked_when_operators_expect_it(
    name: str, is_once: bool, is_on_rebuild: bool
) -> None:
    """The entry point has the name of its class."""
    (point,) = POINTS.select(name=name)
    each = point.load()
    assert each.__name__ == name
    assert (each.run_filter_once_per_request, each.RUN_ON_REBUILD) == (is_once, is_on_rebuild)


def test_the_table_has_every_filter_of_ours() -> None:
    """A new one is a new line."""
    assert sorted(INSTALLED) == [name for name, *_flags in TABLE]


@pytest.mark.parametrize("name", sorted(INSTALLED))
def test_a_filter_has_a_file_of_its_own_and_a_manual_entry(name: str) -> None:
    """The file is called as operators call the filter; the entry is its class's docstring."""
    each = INSTALLED[name]
    module = each.partition(":")[0].rpartition(".")[2].replace("_", "")
    assert module == name.lower()
    (point,) = POINTS.select(name=name)
    assert (point.load().__doc__ or "").startswith("Pass")
