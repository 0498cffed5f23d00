"""Plugins that an option makes available: entry points, classes, and what callables return."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from armillary import exception
from scheduler.plugins import loading
from scheduler.plugins.loading import Available

T = TypeVar("T")

ALL_FILTERS = frozenset(
    {"all_filters", "scheduler.filters.all_filters", "nova.scheduler.filters.all_filters"}
)
"""Spellings of every entry point, which is not imported for it. Nova's is accepted so that its
documented settings can be copied."""

OPTION = "[filter_scheduler] available_filters"


def available_filters(namespace: str, entries: Sequence[str], base: type[T]) -> Available[T]:
    """Return what ``entries`` make available by name; a class replaces an entry point.

    Without any of ``ALL_FILTERS``, entry points are not available. Raises ``ConfigurationError``
    for an entry that cannot be imported, or provides anything but subclasses of ``base``.
    """
    classes = {
        each.__name__: each
        for entry in entries
        if entry not in ALL_FILTERS
        for each in _classes(entry, base)
        if not each.__name__.startswith("_")
    }
    points = loading.entry_points(namespace) if ALL_FILTERS.intersection(entries) else {}
    return {**points, **classes}


def _classes(entry: str, base: type[T]) -> Iterator[type[T]]:
    found = _imported(entry)
    if not isinstance(found, type):
        found = _called(found, entry)
    for each in found if isinstance(found, list | tuple | set | frozenset) else [found]:
        if not (isinstance(each, type) and issubclass(each, base)):
            raise exception.ConfigurationError(
                reason=f"{OPTION}: '{entry}' provides {each!r}, which is not a subclass of "
                f"{base.__module__}.{base.__qualname__}"
            )
        yield each


def _imported(entry: str) -> Any:
    module, _separator, name = entry.replace(":", ".").rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as error:  # importing a module can raise anything
        raise exception.ConfigurationError(
            reason=f"{OPTION}: '{entry}' is neither all_filters nor an importable path: "
            f"{type(error).__name__}: {error}"
        ) from error


def _called(found: Callable[[], Any], entry: str) -> Any:
    try:
        return found()
    except Exception as error:  # the callable can raise anything
        raise exception.ConfigurationError(
            reason=f"{OPTION}: calling '{entry}' failed: {type(error).__name__}: {error}"
        ) from error
