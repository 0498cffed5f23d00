"""Which classes ``enabled_filters`` may call by their bare names: ``available_filters``."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from armillary import exception

ALL = "all_filters"
"""Stands for every entry point; it imports none of them."""

OPTION = "[filter_scheduler] available_filters"


def resolve(enabled: Sequence[str], entries: Sequence[str], base: type) -> list[str]:
    """Return the enabled names, those that an entry brings as the path of their class.

    Without ``ALL`` among the entries, what no entry brings and is no path may not be enabled:
    raises ``PluginNotFound``. Raises ``ConfigurationError`` for an entry that cannot be imported,
    or that brings something else than subclasses of ``base``.
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
                reason=f"{OPTION} names '{entry}', which brings {each!r}: no subclass of "
                f"{base.__module__}.{base.__qualname__}"
            )
        yield each


def _imported(entry: str) -> Any:
    module, _separator, name = entry.replace(":", ".").rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as error:  # whatever a module does when it is imported
        raise exception.ConfigurationError(
            reason=f"{OPTION} names '{entry}', which is neither {ALL} nor the path of something "
            f"that can be imported: {type(error).__name__}: {error}"
        ) from error


def _called(found: Callable[[], Any], entry: str) -> Any:
    try:
        return found()
    except Exception as error:  # whatever it does
        raise exception.ConfigurationError(
            reason=f"{OPTION} names '{entry}', which cannot be called: "
            f"{type(error).__name__}: {error}"
        ) from error
