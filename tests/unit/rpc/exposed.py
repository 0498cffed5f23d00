"""Which methods a service exposes over RPC, as the dispatcher sees it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType


def exposed_by(endpoint: type) -> set[str]:
    """Return the names of the methods that may be called."""
    return {
        name
        for name, member in inspect.getmembers(endpoint, callable)
        if hasattr(member, "exposed")
    }


def exposed_by_modules(package: ModuleType) -> set[str]:
    """Return the same of all classes in the modules of a package."""
    found: set[str] = set()
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        for _, member in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            found |= exposed_by(member)
    return found
