"""Find plugins by entry point or class path; say which option names one that is not there."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint
from typing import Any, TypeVar

import stevedore

from armillary import exception

T = TypeVar("T")


class PluginBroke(Exception):
    """A plugin raised or answered nonsense: a defect of it, not an answer about a host."""

    def __init__(self, plugin: object, what: object) -> None:
        self.plugin = type(plugin).__name__
        detail = f"{type(what).__name__}: {what}" if isinstance(what, Exception) else what
        super().__init__(f"{self.plugin} is broken: {detail}")


class CannotDecide(PluginBroke):
    """A plugin works, and says why it cannot answer as things are, such as a figure that lacks."""

    def __init__(self, plugin: object, why: str) -> None:
        Exception.__init__(self, f"{type(plugin).__name__} cannot decide: {why}")
        self.plugin = type(plugin).__name__


def load(
    namespace: str,
    names: Sequence[str],
    base: type[T],
    *,
    make: Callable[[type[T]], T],
    option: str,
) -> list[T]:
    """Return what ``make`` makes of the classes that ``names`` stand for, in their order.

    A name is that of an entry point in ``namespace``, or a class path (``package.module.Class`` or
    ``package.module:Class``). Raises ``PluginNotFound``, and ``ConfigurationError`` for a plugin
    that cannot be imported or made, or is no subclass of ``base``; ``option`` is named in both.
    """
    known = {point.name: point for point in _entry_points(namespace)}
    return [_made(name, _class(name, known, base, option), make, option) for name in names]


def names(namespace: str) -> list[str]:
    """Return the names of all entry points in a namespace, sorted."""
    return sorted(point.name for point in _entry_points(namespace))


def _entry_points(namespace: str) -> list[EntryPoint]:
    # With no names, nothing is imported but what is asked for: a broken plugin that is not enabled
    # costs nothing.
    manager = stevedore.NamedExtensionManager[Any](
        namespace, names=[], on_missing_entrypoints_callback=None
    )
    return manager.list_entry_points()


def _class(name: str, known: dict[str, EntryPoint], base: type[T], option: str) -> type[T]:
    if name in known:
        found = _imported(known[name].value, name, option)
    elif "." in name:
        found = _imported(name, name, option)
    else:
        raise exception.PluginNotFound(
            option=option, name=name, available=", ".join(sorted(known)) or "none"
        )
    if not (isinstance(found, type) and issubclass(found, base)):
        raise exception.ConfigurationError(
            reason=f"{option} names '{name}', which is no subclass of "
            f"{base.__module__}.{base.__qualname__}"
        )
    return found


def _made(name: str, found: type[T], make: Callable[[type[T]], T], option: str) -> T:
    try:
        return make(found)
    except exception.ConfigurationError:
        raise
    except Exception as error:  # whatever a constructor does
        raise exception.ConfigurationError(
            reason=f"{option} names '{name}', which does not start: {_one_line(error)}"
        ) from error


def _imported(path: str, name: str, option: str) -> Any:
    module, colon, attribute = path.partition(":")
    if not colon:
        module, _dot, attribute = path.rpartition(".")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever a module does when it is imported
        raise exception.ConfigurationError(
            reason=f"{option} names '{name}', which cannot be imported from {path}: "
            f"{_one_line(error)}"
        ) from error
    return found


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
