"""Plugins: which are available, loading by entry point or class path, and checks at startup."""

import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint
from operator import attrgetter
from typing import Any, Protocol, TypeVar

import stevedore
from oslo_config import cfg

from armillary import exception
from scheduler.hosts.host_state import READABLE

T = TypeVar("T")

Available = Mapping[str, EntryPoint | type[T]]
"""Plugins by the names that options may use."""


class PluginFailed(Exception):
    """A plugin raised an exception or returned an invalid value: a bug, not an answer.

    Its text is for the log. ``public`` is for users, who learn nothing of the plugin's insides.
    """

    def __init__(self, plugin: object, what: object) -> None:
        self.plugin = type(plugin).__name__
        detail = f"{type(what).__name__}: {what}" if isinstance(what, Exception) else what
        super().__init__(f"{self.plugin} failed: {detail}")
        self.public = f"{self.plugin} failed; the scheduler's log says why"


class CannotDecide(PluginFailed):
    """A plugin works but cannot answer, for example because a host does not report a value."""

    def __init__(self, plugin: object, why: str) -> None:
        self.plugin = type(plugin).__name__
        self.public = f"{self.plugin} cannot decide: {why}"
        Exception.__init__(self, self.public)


def load(
    available: Available[T],
    names: Sequence[str],
    base: type[T],
    *,
    make: Callable[[type[T]], T],
    option: str,
) -> list[T]:
    """Return the results of ``make`` for the classes that ``names`` refer to, in order.

    A name is one of ``available``, or a class path (``package.module.Class`` or
    ``package.module:Class``). Raises ``PluginNotFound``, and ``ConfigurationError`` for a plugin
    that cannot be imported or created, or is not a subclass of ``base``. Both errors name
    ``option``.
    """
    return [_made(name, _class(name, available, base, option), make, option) for name in names]


def construct(found: type[T], conf: cfg.ConfigOpts) -> T:
    """Return an instance of a plugin's class.

    The constructor gets the configuration if it has a parameter ``conf``, or cannot be called
    without an argument. Others, such as those of Nova's plugins, find it as ``self._conf``.
    """
    if _takes_conf(found):
        return found(conf)  # type: ignore[call-arg]
    made: T = found.__new__(found)
    made._conf = conf  # type: ignore[attr-defined]
    made.__init__()  # type: ignore[misc]
    return made


def _takes_conf(found: type[Any]) -> bool:
    signature = inspect.signature(found)
    if "conf" in signature.parameters:
        return True
    try:
        signature.bind()
    except TypeError:
        return True
    return any(each.kind is each.VAR_POSITIONAL for each in signature.parameters.values())


def entry_points(namespace: str) -> dict[str, EntryPoint]:
    """Return the entry points of a namespace by name, sorted, without importing any."""
    # Without names nothing is imported here, so a broken plugin that is not enabled does no harm.
    manager = stevedore.NamedExtensionManager[Any](
        namespace, names=[], on_missing_entrypoints_callback=None
    )
    points: list[EntryPoint] = manager.list_entry_points()
    return {point.name: point for point in sorted(points, key=attrgetter("name"))}


def _class(name: str, available: Available[T], base: type[T], option: str) -> type[T]:
    found: Any = available.get(name)
    if isinstance(found, EntryPoint):
        found = _imported(found.value, name, option)
    elif found is None and ("." in name or ":" in name):
        found = _imported(name, name, option)
    elif found is None:
        raise exception.PluginNotFound(
            option=option, name=name, available=", ".join(sorted(available)) or "none"
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
    points = entry_points(namespace) if ALL_FILTERS.intersection(entries) else {}
    return {**points, **classes}


def _classes(entry: str, base: type[T]) -> Iterator[type[T]]:
    found = _import_entry(entry)
    if not isinstance(found, type):
        found = _called(found, entry)
    for each in found if isinstance(found, list | tuple | set | frozenset) else [found]:
        if not (isinstance(each, type) and issubclass(each, base)):
            raise exception.ConfigurationError(
                reason=f"{OPTION}: '{entry}' provides {each!r}, which is not a subclass of "
                f"{base.__module__}.{base.__qualname__}"
            )
        yield each


def _import_entry(entry: str) -> Any:
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


class UsesAttributes(Protocol):
    """A plugin that declares the host attributes it reads."""

    @property
    def host_attributes(self) -> tuple[str, ...]: ...


def check_attributes(plugins: Iterable[UsesAttributes], option: str) -> None:
    """Raise ``ConfigurationError`` with undeclared attributes and the plugins that read them."""
    missing = [
        f"{type(each).__name__} uses {', '.join(unknown)}"
        for each in plugins
        if (unknown := [name for name in each.host_attributes if name not in READABLE])
    ]
    if missing:
        raise exception.ConfigurationError(
            reason=f"{option}: {'; '.join(missing)}, but objects.hosts.host_attributes does not "
            "declare this, so no agent reports it"
        )
