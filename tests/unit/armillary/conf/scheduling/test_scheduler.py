"""[scheduler] has sensible values."""

import pytest

from tests.fleets import scheduling_conf


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("driver", "filter_scheduler"),
        ("workers", None),
        ("max_attempts", 3),
        ("max_placement_results", 0),
        ("query_placement_for_image_type_support", False),
        ("enable_isolated_aggregate_filtering", False),
        ("image_metadata_prefilter", False),
        ("limit_tenants_to_placement_aggregate", False),
        ("placement_aggregate_required_for_tenants", False),
        ("claimed_instance_seconds", 120),
    ],
)
def test_defaults_are_the_documented_ones(name: str, default: object) -> None:
    """Candidates are not limited: all hosts count."""
    assert scheduling_conf().scheduler[name] == default


def test_at_least_one_attempt_is_made() -> None:
    """An instance with no attempt would never be built."""
    with pytest.raises(ValueError, match="Should be greater than or equal to 1"):
        scheduling_conf(scheduler__max_attempts=0)


def test_a_cell_is_asked_again_before_it_counts_as_down() -> None:
    """A lost push must not cost a cell's hosts."""
    conf = scheduling_conf()
    assert conf.scheduler.sync_interval_seconds * 3 <= conf.service_down_time
