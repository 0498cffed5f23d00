"""Calls of plugins, with a record of which thread is in which plugin and since when.

A call cannot be aborted from outside. A monitor marks slow calls (``mark_overdue``), and a marked
call ends when it reads the next host. A call that never does so is at least reported.
"""

import threading
import time
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

from scheduler.plugins.loading import PluginFailed

P = ParamSpec("P")
T = TypeVar("T")


class Call:
    """A call of a plugin in progress."""

    __slots__ = ("is_overdue", "plugin", "since")

    def __init__(self, plugin: object) -> None:
        self.plugin = plugin
        self.since = time.monotonic()
        self.is_overdue = False

    @property
    def seconds(self) -> float:
        """Seconds since the start of the call."""
        return time.monotonic() - self.since


_calls: dict[int, Call] = {}
"""Thread id -> its innermost call, for all threads of this process."""


def ask(plugin: object, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return a plugin's answer; raise ``PluginFailed`` for anything that it raises."""
    thread = threading.get_ident()
    outer = _calls.get(thread)
    _calls[thread] = Call(plugin)
    try:
        return question(*args, **kwargs)
    except PluginFailed:
        raise
    except Exception as error:
        raise PluginFailed(plugin, error) from error
    finally:
        if outer is None:
            del _calls[thread]
        else:
            _calls[thread] = outer


def in_turn(items: Iterator[T]) -> Iterator[T]:
    """Yield items to the plugin that runs in this thread.

    Raises ``PluginFailed`` when its call is overdue.
    """
    call = _calls.get(threading.get_ident())
    if call is None:
        yield from items
        return
    for item in items:
        if call.is_overdue:
            raise PluginFailed(
                call.plugin,
                f"it did not get through all hosts in {call.seconds:.0f} s, which exceeds "
                "[scheduler] plugin_timeout_seconds",
            )
        yield item


def mark_overdue(seconds: float) -> dict[int, Call]:
    """Mark calls that took longer, and return them by thread, longest first."""
    overdue = {thread: call for thread, call in list(_calls.items()) if call.seconds > seconds}
    for call in overdue.values():
        call.is_overdue = True
    return dict(sorted(overdue.items(), key=lambda item: item[1].since))
