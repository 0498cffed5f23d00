"""Print the schemas of answers that Tempest publishes, by client and version: for its Python."""

import importlib
import inspect
import json
import pkgutil
import sys

from tempest.lib.api_schema.response.compute import v2_1  # type: ignore[import-not-found]
from tempest.lib.services import compute  # type: ignore[import-not-found]


def schemas_of(module):
    """Return the schemas in a module: of a status, and of a body if there is one."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, dict) and "status_code" in value
    }


def submodules(package):
    return [
        importlib.import_module(f"{package.__name__}.{info.name}")
        for info in pkgutil.iter_modules(package.__path__)
    ]


def main():
    """Write a JSON object: client -> list of ranges of versions, each with its schemas.

    Those of all versions alike are under the name of their module.
    """
    found = {
        module.__name__.rpartition(".")[2]: [
            {"min": None, "max": None, "schemas": schemas_of(module)}
        ]
        for module in submodules(v2_1)
    }
    for module in submodules(compute):
        for name, client in inspect.getmembers(module, inspect.isclass):
            if client.__module__ == module.__name__ and vars(client).get("schema_versions_info"):
                found[name] = [
                    {"min": one["min"], "max": one["max"], "schemas": schemas_of(one["schema"])}
                    for one in client.schema_versions_info
                ]
    json.dump(found, sys.stdout)


main()
