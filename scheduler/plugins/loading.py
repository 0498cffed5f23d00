"""Plugin loading by entry point or class path."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint
from typing import Any, TypeVar

import stevedore

from armillary import exception

T = TypeVar("T")


class PluginFailed(Exception):
    """A plugin raised an exception or returned an invalid value: a bug, not an answer."""

    def __init__(self, plugin: object, what: object) -> None:
        self.plugin = type(plugin).__name__
        detail = f"{type(what).__name__}: {what}" if isinstance(what, Exception) else what
        super().__init__(f"{self.plugin} failed: {detail}")


class CannotDecide(PluginFailed):
    """A plugin works but cannot answer, for example because a host does not report a value."""

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
    """Return the results of ``make`` for the classes that ``names`` refer to, in order.

    A name is an entry point in ``namespace``, or a class path (``package.module.Class`` or
    ``package.module:Class``). Raises ``PluginNotFound``, and ``ConfigurationError`` for a plugin
    that cannot be imported or created, or is not a subclass of ``base``. Both errors name
    ``option``.
    """
    known = {point.name: point for point in _entry_points(namespace)}
    return [_made(name, _class(name, known, base, option), make, option) for name in names]


def names(namespace: str) -> list[str]:
    """Return the names of all entry points in a namespace, sorted."""
    return sorted(point.name for point in _entry_points(namespace))


def _entry_points(namespace: str) -> list[EntryPoint]:
    # Without names nothing is imported here, so a broken plugin that is not enabled does no harm.
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
            reason=f"{option}: '{name}' is not a subclass of {base.__module__}.{base.__qualname__}"
        )
    return found


def _made(name: str, found: type[T], make: Callable[[type[T]], T], option: str) -> T:
    try:
        return make(found)
    except exception.ConfigurationError:
        raise
    except Exception as error:  # a constructor can raise anything
        raise exception.ConfigurationError(
            reason=f"{option}: creating '{name}' failed: {_one_line(error)}"
        ) from error


def _imported(path: str, name: str, option: str) -> Any:
    module, colon, attribute = path.partition(":")
    if not colon:
        module, _dot, attribute = path.rpartition(".")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:  # importing a module can raise anything
        raise exception.ConfigurationError(
            reason=f"{option}: '{name}' cannot be imported from {path}: {_one_line(error)}"
        ) from error
    return found


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
