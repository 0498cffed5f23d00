"""A plugin's answer, and how long it takes."""

from collections.abc import Iterator

import pytest

from scheduler.hosts.host_table import HostTable
from scheduler.plugins import plugin_calls
from scheduler.plugins.loading import CannotDecide, PluginFailed


class Plugin:
    """Any."""


PLUGIN = Plugin()


def test_an_answer_is_an_answer() -> None:
    """And nothing is remembered of the question."""
    assert plugin_calls.ask(PLUGIN, max, 1, 2) == 2
    assert plugin_calls.mark_overdue(-1.0) == {}


def test_what_a_plugin_raises_names_it() -> None:
    """Except for what it says about itself."""

    def fail() -> None:
        raise KeyError("colour")

    def refuse() -> None:
        raise CannotDecide(PLUGIN, "it is dark")

    with pytest.raises(PluginFailed, match="Plugin failed: KeyError: 'colour'"):
        plugin_calls.ask(PLUGIN, fail)
    with pytest.raises(CannotDecide, match="Plugin cannot decide: it is dark"):
        plugin_calls.ask(PLUGIN, refuse)
    assert plugin_calls.mark_overdue(-1.0) == {}


def test_a_plugin_inside_another_is_the_one_that_counts() -> None:
    """Then the other one again."""
    seen: list[type] = []

    def look() -> None:
        (call,) = plugin_calls.mark_overdue(-1.0).values()
        seen.append(type(call.plugin))

    def outer() -> None:
        plugin_calls.ask("inner", look)
        look()

    plugin_calls.ask(PLUGIN, outer)
    assert seen == [str, Plugin]


def test_a_plugin_that_is_overdue_ends_at_the_next_host() -> None:
    """Wherever it looks at hosts one by one."""
    seen: list[str] = []

    def slow() -> None:
        for host in HostTable.from_values([{"host": "a"}, {"host": "b"}]):
            seen.append(host.host)
            plugin_calls.mark_overdue(-1.0)

    with pytest.raises(
        PluginFailed, match="Plugin failed: it did not get through all hosts in 0 s"
    ):
        plugin_calls.ask(PLUGIN, slow)
    assert seen == ["a"]


def test_outside_of_a_plugin_nothing_ends() -> None:
    """Tests of plugins, and code that prints a table."""

    def numbers() -> Iterator[int]:
        yield 1
        plugin_calls.mark_overdue(-1.0)
        yield 2

    assert list(plugin_calls.in_turn(numbers())) == [1, 2]
