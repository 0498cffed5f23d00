"""Loading of the plugins that an option names, from their entry points."""

from collections.abc import Iterable
from importlib.metadata import EntryPoint
from typing import Any

from stevedore import ExtensionManager

from armillary import exception


def load(namespace: str, option: str, names: Iterable[str]) -> dict[str, Any]:
    """Return the named plugins, in order, by name.

    Raises PluginNotFound, and ConfigurationError for one that cannot be loaded.
    """
    broken: dict[str, BaseException] = {}

    def note_broken(_: Any, entry_point: EntryPoint, error: BaseException) -> None:
        broken[entry_point.name] = error

    found: ExtensionManager[Any] = ExtensionManager(namespace, on_load_failure_callback=note_broken)
    plugins = {}
    for name in names:
        if name in broken:
            raise exception.ConfigurationError(
                reason=f"{option}: {name} cannot be loaded: {broken[name]}"
            ) from broken[name]
        if name not in found:
            available = ", ".join(sorted(found.names()))
            raise exception.PluginNotFound(option=option, name=name, available=available)
        plugins[name] = found[name].plugin
    return plugins
