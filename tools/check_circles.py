"""Fail if modules import each other in a circle, also for types alone."""

import graphlib
import sys
import tomllib
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".import_linter_cache"


def main() -> int:
    """Return 0 if no module imports itself through others."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = settings["tool"]["importlinter"]["root_packages"]
    graph = grimp.build_graph(*packages, include_external_packages=True, cache_dir=str(CACHE))
    imports = {
        module: graph.find_modules_directly_imported_by(module)
        for module in graph.modules
        if module.partition(".")[0] in packages
    }
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        print(f"A circle of imports: {' <- '.join(error.args[1])}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
