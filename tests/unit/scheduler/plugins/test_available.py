"""Which names may be enabled, and what they stand for."""

import sys
from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.filters import BaseHostFilter
from scheduler.filters.all_hosts_filter import AllHostsFilter
from scheduler.hosts.host_state import HostState
from tests.fleets import scheduling_conf

HERE = "tests.unit.scheduler.plugins.test_available"


class RackFilter(BaseHostFilter):
    """A third party's own."""

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return True


class _HiddenFilter(BaseHostFilter):
    """A base of a third party's own."""


def our_filters() -> list[type[BaseHostFilter]]:
    return [AllHostsFilter, RackFilter, _HiddenFilter]


def made_filters() -> list[type[BaseHostFilter]]:
    class MadeFilter(RackFilter):
        """Not importable by a path."""

    return [MadeFilter]


def no_filters() -> list[Any]:
    return [dict]


def broken() -> list[Any]:
    raise OSError("no licence")


def names(enabled: list[str], *entries: str) -> list[str]:
    conf = scheduling_conf(
        filter_scheduler__enabled_filters=enabled, filter_scheduler__available_filters=[*entries]
    )
    return filters.load_filters(conf).names


@pytest.mark.parametrize(
    "entry", [f"{HERE}.RackFilter", f"{HERE}:RackFilter", f"{HERE}.our_filters"]
)
def test_an_entry_lends_its_classes_their_names(entry: str) -> None:
    """A class, or what is called and returns some; beside all that are installed."""
    assert names(["RackFilter", "ComputeFilter"], "all_filters", entry) == [
        "RackFilter",
        "ComputeFilter",
    ]


@pytest.mark.parametrize(
    "everything",
    ["all_filters", "scheduler.filters.all_filters", "nova.scheduler.filters.all_filters"],
)
@pytest.mark.parametrize(
    ("entry", "enabled"),
    [
        ("myfilter.MyFilter", "MyFilter"),
        ("myfilter:MyFilter", "MyFilter"),
        ("myfilter.all_of_mine", "MyFilter"),
        (None, "myfilter.MyFilter"),
        (None, "myfilter:MyFilter"),
    ],
)
def test_documented_settings_work_as_they_are_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    everything: str,
    entry: str | None,
    enabled: str,
) -> None:
    """A module on the path, the option repeated, a space after the comma."""
    (tmp_path / "myfilter.py").write_text(
        "from scheduler import filters\n\n\n"
        "class MyFilter(filters.BaseHostFilter):\n"
        "    def host_passes(self, host_state, spec):\n        return True\n\n\n"
        "def all_of_mine():\n"
        "    return [MyFilter]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "myfilter", raising=False)
    lines = ["[filter_scheduler]", f"available_filters = {everything}"]
    if entry is not None:
        lines.append(f"available_filters = {entry}")
    lines.append(f"enabled_filters = ComputeFilter, {enabled}")
    path = tmp_path / "scheduler.conf"
    path.write_text("\n".join(lines) + "\n")
    conf = scheduling_conf()
    conf(["--config-file", str(path)], project="armillary")
    assert filters.load_filters(conf).names == ["ComputeFilter", "MyFilter"]


def test_a_class_made_by_a_callable_is_used_itself() -> None:
    """It needs no path of its own."""
    assert names(["MadeFilter"], f"{HERE}.made_filters") == ["MadeFilter"]


def test_without_all_filters_only_what_entries_bring_has_a_name() -> None:
    """And paths, which need none."""
    assert names(["AllHostsFilter", f"{HERE}.RackFilter"], f"{HERE}.our_filters") == [
        "AllHostsFilter",
        "RackFilter",
    ]
    with pytest.raises(exception.PluginNotFound, match=r"available: AllHostsFilter, RackFilter$"):
        names(["ComputeFilter"], f"{HERE}.our_filters")


def test_a_class_with_an_underscore_is_not_for_use() -> None:
    """It is a base of others."""
    with pytest.raises(exception.PluginNotFound, match="'_HiddenFilter', which is not installed"):
        names(["_HiddenFilter"], "all_filters", f"{HERE}.our_filters")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("nowhere.at_all", "neither all_filters nor an importable path: ModuleNotFoundError"),
        (f"{HERE}.nothing", "importable path: AttributeError"),
        ("AllHostsFilter", "importable path: ValueError"),
        (f"{HERE}.no_filters", "provides <class 'dict'>, which is not a subclass of"),
        (f"{HERE}.broken", "failed: OSError: no licence"),
    ],
)
def test_a_mistake_says_the_option_and_the_entry(entry: str, message: str) -> None:
    """One line for the operator."""
    with pytest.raises(exception.ConfigurationError, match=message) as caught:
        names(["ComputeFilter"], "all_filters", entry)
    assert "[filter_scheduler] available_filters: " in str(caught.value)
    assert f"'{entry}'" in str(caught.value)
