"""A scheduler can rely on everything that its filters and weighers use, or does not start."""

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

from armillary import exception
from objects.request_spec import RequestSpec
from scheduler import filters, weights
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.host_state import READABLE, HostState
from scheduler.hosts.host_table import HostTable
from tests.fixtures.plugins.examples import examples
from tests.fleets import scheduling_conf
from tests.unit.scheduler.hosts.test_both_forms import EVERY_FILTER, EVERY_WEIGHER, ledgers, specs

HERE = "tests.unit.scheduler.plugins.test_plugin_attributes"


class WarmthFilter(filters.BaseHostFilter):
    host_attributes = ("free_ram_mb", "warmth", "height")


class WarmthWeigher(weights.BaseHostWeigher):
    host_attributes = ("warmth",)


@pytest.mark.parametrize(
    ("option", "load", "name"),
    [
        ("enabled_filters", filters.load_filters, "WarmthFilter"),
        ("weight_classes", weights.load_weighers, "WarmthWeigher"),
    ],
)
def test_an_undeclared_attribute_stops_the_start(option: str, load: Any, name: str) -> None:
    """BZ-22: with the names; those that are declared are not among them."""
    conf = scheduling_conf(**{f"filter_scheduler__{option}": [f"{HERE}.{name}"]})
    with pytest.raises(exception.ConfigurationError, match=f"{name} uses .*warmth") as caught:
        load(conf)
    assert "free_ram_mb" not in str(caught.value)
    assert option in str(caught.value)


@contextlib.contextmanager
def reading() -> Iterator[set[str]]:
    """Yield the names of attributes as they are read of hosts."""
    read: set[str] = set()
    before = HostState.__getattr__, HostTable.__getattr__

    def of_state(state: HostState, name: str) -> Any:
        read.add(name)
        return before[0](state, name)

    def of_table(table: HostTable, name: str) -> Any:
        read.add(name)
        return before[1](table, name)

    HostState.__getattr__ = of_state  # type: ignore[method-assign]
    HostTable.__getattr__ = of_table  # type: ignore[method-assign]
    try:
        yield read
    finally:
        HostState.__getattr__, HostTable.__getattr__ = before  # type: ignore[method-assign]


def test_our_plugins_name_what_they_read() -> None:
    """BZ-22: what they read of random hosts for random requests, in both forms."""
    found: dict[str, set[str]] = defaultdict(set)

    @settings(max_examples=examples(60), deadline=None)
    @given(ledger=ledgers(), spec=specs)
    def look(ledger: HostLedger, spec: RequestSpec) -> None:
        table = ledger.hosts
        for name, each in EVERY_FILTER.items():
            with reading() as read:
                each.host_mask(table, spec)
                for host in table:
                    each.host_passes(host, spec)
            found[name] |= read & READABLE
        for name, weigher in EVERY_WEIGHER.items():
            with reading() as read:
                weigher.host_weights(table, spec)
                for host in table:
                    weigher.host_weight(host, spec)
            found[name] |= read & READABLE

    look()
    plugins: dict[str, Any] = {**EVERY_FILTER, **EVERY_WEIGHER}
    undeclared = {
        name: read - set(plugins[name].host_attributes)
        for name, read in found.items()
        if type(plugins[name]).__module__.startswith("scheduler.")
        and not read <= set(plugins[name].host_attributes)
    }
    assert undeclared == {}


def test_what_our_plugins_name_is_declared() -> None:
    """BZ-22: all of them, whether they are enabled or not."""
    assert EVERY_FILTER
    assert EVERY_WEIGHER
    plugins: list[Any] = [*EVERY_FILTER.values(), *EVERY_WEIGHER.values()]
    for each in plugins:
        assert set(each.host_attributes) <= READABLE
