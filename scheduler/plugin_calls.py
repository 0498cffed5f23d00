"""Ask a plugin, and note meanwhile which thread is in which plugin, since when.

A call cannot be ended from outside. One that takes too long is marked by whoever watches
(``mark_overdue``) and ends by itself where it looks at the next host; one that never does is at
least known.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

from scheduler.plugins import PluginBroke

P = ParamSpec("P")
T = TypeVar("T")


class Call:
    """A question to a plugin that is not answered yet."""

    __slots__ = ("is_overdue", "plugin", "since")

    def __init__(self, plugin: object) -> None:
        self.plugin = plugin
        self.since = time.monotonic()
        self.is_overdue = False

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.monotonic() - self.since


_calls: dict[int, Call] = {}
"""Thread -> the innermost call; of this process, as threads are."""


def ask(plugin: object, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return a plugin's answer; raise ``PluginBroke`` for whatever it raises."""
    thread = threading.get_ident()
    outer = _calls.get(thread)
    _calls[thread] = Call(plugin)
    try:
        return question(*args, **kwargs)
    except PluginBroke:
        raise
    except Exception as error:
        raise PluginBroke(plugin, error) from error
    finally:
        if outer is None:
            del _calls[thread]
        else:
            _calls[thread] = outer


def in_turn(items: Iterator[T]) -> Iterator[T]:
    """Yield items to the plugin in this thread, until it has taken too long.

    Raises ``PluginBroke`` then.
    """
    call = _calls.get(threading.get_ident())
    if call is None:
        yield from items
        return
    for item in items:
        if call.is_overdue:
            raise PluginBroke(
                call.plugin,
                f"it took {call.seconds:.0f} s and was not through all hosts; "
                "[scheduler] plugin_timeout_seconds allows less",
            )
        yield item


def mark_overdue(seconds: float) -> dict[int, Call]:
    """Mark calls that take longer, and return them by their threads; the longest is the first."""
    overdue = {thread: call for thread, call in list(_calls.items()) if call.seconds > seconds}
    for call in overdue.values():
        call.is_overdue = True
    return dict(sorted(overdue.items(), key=lambda item: item[1].since))
