"""Plugins come by entry point or class path; a mistake is one line that says what to do."""

import sys
from pathlib import Path

import pytest
import stevedore
from stevedore import _cache

from armillary import exception
from scheduler import filters, weights
from scheduler.filters import BaseHostFilter
from scheduler.filters.amounts.num_instances_filter import NumInstancesFilter
from scheduler.plugins import loading
from tests.fleets import a_host, a_table, scheduling_conf

HERE = "tests.unit.scheduler.plugins.test_loading"


class NoFilter:
    """A class, but none of ours."""

    def __init__(self, conf: object) -> None: ...


class BrokenFilter(BaseHostFilter):
    def __init__(self, conf: object) -> None:
        raise OSError("no\nlicence")


class PlainFilter(BaseHostFilter):
    """As written for Nova: it takes no argument, and may read its base class's configuration."""

    def __init__(self) -> None:
        super().__init__()
        self.limit = self._conf.filter_scheduler.max_io_ops_per_host


class ForgetfulWeigher(weights.BaseHostWeigher):
    """It has an argument of its own, and does not call the base class."""

    multiplier_option = "io_ops_weight_multiplier"

    def __init__(self, weight: float = 2.0) -> None:
        self.weight = weight


class OptionlessWeigher(weights.BaseHostWeigher):
    multiplier_option = "no_such_option"


def loaded(*names: str) -> list[BaseHostFilter]:
    conf = scheduling_conf()
    return loading.load(
        loading.entry_points(filters.NAMESPACE),
        names,
        BaseHostFilter,
        make=lambda each: each(conf),
        option="[filter_scheduler] enabled_filters",
    )


def test_a_name_is_an_entry_point_or_a_class_path() -> None:
    """All three ways lead to the same class, in the order of the names."""
    path = "scheduler.filters.amounts.num_instances_filter"
    found = loaded(f"{path}.NumInstancesFilter", "ComputeFilter", f"{path}:NumInstancesFilter")
    assert [type(each).__name__ for each in found] == [
        "NumInstancesFilter",
        "ComputeFilter",
        "NumInstancesFilter",
    ]
    assert isinstance(found[0], NumInstancesFilter)


def test_an_unknown_name_says_the_option_and_what_there_is() -> None:
    """The operator sees where it stands and what could stand there."""
    with pytest.raises(exception.PluginNotFound) as caught:
        loaded("ComputFilter")
    message = str(caught.value)
    assert "[filter_scheduler] enabled_filters names the plugin 'ComputFilter'" in message
    assert "AvailabilityZoneFilter, ComputeCapabilitiesFilter, ComputeFilter" in message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no.such.Module", "cannot be imported from no.such.Module: ModuleNotFoundError"),
        ("scheduler.filters.Nothing", "cannot be imported .* AttributeError"),
        (f"{HERE}:NoFilter", "is not a subclass of scheduler.filters.BaseHostFilter"),
        ("scheduler.filters.load_filters", "is not a subclass"),
        (f"{HERE}:BrokenFilter", "BrokenFilter' failed: OSError: no licence$"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_a_configuration_error(name: str, message: str) -> None:
    """One line, with the option and the reason."""
    with pytest.raises(exception.ConfigurationError, match=message) as caught:
        loaded(name)
    assert "[filter_scheduler] enabled_filters: " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_weigher_without_its_option_does_not_start() -> None:
    """It would fail every request otherwise."""
    conf = scheduling_conf(filter_scheduler__weight_classes=[f"{HERE}:OptionlessWeigher"])
    with pytest.raises(exception.ConfigurationError, match="no_such_option"):
        weights.load_weighers(conf)


def test_a_plugin_that_is_not_enabled_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken package beside ours costs nothing."""
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[armillary.scheduler.filters]\nBrokenFilter = no_such_package:Filter\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(stevedore.ExtensionManager, "ENTRY_POINT_CACHE", {})
    monkeypatch.setattr(_cache, "_c", _cache.Cache(str(tmp_path / "cache")))
    assert [type(each).__name__ for each in loaded("ComputeFilter")] == ["ComputeFilter"]
    with pytest.raises(exception.ConfigurationError, match="no_such_package"):
        loaded("BrokenFilter")
    assert "no_such_package" not in sys.modules


def test_constructors_need_not_take_the_configuration() -> None:
    """Plugins of Nova do not; the base class has it all the same."""
    conf = scheduling_conf(filter_scheduler__max_io_ops_per_host=5)
    assert loading.construct(PlainFilter, conf).limit == 5
    weigher = loading.construct(ForgetfulWeigher, conf)
    assert (weigher.weight, weigher.multiplier()) == (2.0, -1.0)
    hosts = a_table([a_host("a"), a_host("b")])
    assert weigher.multipliers(hosts).tolist() == [-1.0, -1.0]
