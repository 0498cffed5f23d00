"""Resolution of ``available_filters``: classes that ``enabled_filters`` may name directly."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from armillary import exception

ALL = "all_filters"
"""Stands for every entry point without importing any."""

OPTION = "[filter_scheduler] available_filters"


def resolve(enabled: Sequence[str], entries: Sequence[str], base: type) -> list[str]:
    """Return the enabled names, with those provided by an entry replaced by their class path.

    Without ``ALL`` among the entries, a name that no entry provides and that is not a path is
    rejected with ``PluginNotFound``. Raises ``ConfigurationError`` for an entry that cannot be
    imported, or that provides anything but subclasses of ``base``.
    """
    paths = {
        each.__name__: f"{each.__module__}:{each.__qualname__}"
        for entry in entries
        if entry != ALL
        for each in _classes(entry, base)
        if not each.__name__.startswith("_")
    }
    if ALL not in entries:
        _refuse_others(enabled, paths)
    return [paths.get(name, name) for name in enabled]


def _refuse_others(enabled: Iterable[str], paths: Mapping[str, str]) -> None:
    for name in enabled:
        if name not in paths and "." not in name:
            raise exception.PluginNotFound(
                option="[filter_scheduler] enabled_filters",
                name=name,
                available=", ".join(sorted(paths)) or "none",
            )


def _classes(entry: str, base: type) -> Iterator[type]:
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
            reason=f"{OPTION}: '{entry}' is neither {ALL} nor an importable path: "
            f"{type(error).__name__}: {error}"
        ) from error


def _called(found: Callable[[], Any], entry: str) -> Any:
    try:
        return found()
    except Exception as error:  # the callable can raise anything
        raise exception.ConfigurationError(
            reason=f"{OPTION}: calling '{entry}' failed: {type(error).__name__}: {error}"
        ) from error
