"""The configurations that are compared."""

from pathlib import Path

import pytest

from armillary import exception
from simulator.scenario.policies import read_policies
from tests.fixtures.fleets.simulations import write_policy


def test_without_files_options_have_their_defaults() -> None:
    """And no file of a service is read."""
    (policy,) = read_policies([], [])
    assert policy.name == "defaults"
    assert policy.conf.filter_scheduler.host_subset_size == 1
    assert policy.conf.config_file == []


def test_a_compared_file_wins_over_a_common_one(tmp_path: Path) -> None:
    """Each of the two is a policy of its own."""
    head = "[filter_scheduler]"
    common = write_policy(tmp_path, "c", [head, "host_subset_size = 2", "max_io_ops_per_host = 3"])
    one = write_policy(tmp_path, "one", [head, "host_subset_size = 5"])
    two = write_policy(tmp_path, "two", [head])
    policies = read_policies([common], [one, two])
    assert [each.name for each in policies] == ["one", "two"]
    options = [each.conf.filter_scheduler for each in policies]
    assert [each.host_subset_size for each in options] == [5, 2]
    assert [each.max_io_ops_per_host for each in options] == [3, 3]


def test_equal_names_are_told_apart(tmp_path: Path) -> None:
    """Two files may be called the same."""
    path = write_policy(tmp_path, "p", [])
    assert [each.name for each in read_policies([], [path, path])] == ["p (A)", "p (B)"]


def test_a_misspelt_option_is_said(tmp_path: Path) -> None:
    """It would have no effect."""
    path = write_policy(tmp_path, "p", ["[filter_scheduler]", "host_subset_sizes = 2"])
    (policy,) = read_policies([path], [])
    (warning,) = policy.warnings
    assert "host_subset_sizes" in warning


@pytest.mark.parametrize(
    "lines", [["[filter_scheduler]", "host_subset_size = 0"], ["no section"], None],
    ids=["bounds", "syntax", "missing"],
)  # fmt: skip
def test_a_wrong_file_is_refused(lines: list[str] | None, tmp_path: Path) -> None:
    """As a service would refuse it."""
    path = tmp_path / "none.conf" if lines is None else write_policy(tmp_path, "p", lines)
    with pytest.raises(exception.ConfigurationError, match=path.name):
        read_policies([path], [])
