"""Copy the console's libraries, unmodified, into the tree: ``tools/vendor_console.py [--check]``.

The versions and hashes of the packages are in ``tools/console_libraries/package-lock.json``; npm
fetches them and checks the hashes. ``--check`` needs no network: it compares the files in the tree
with the list of their hashes, as a unit test does.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ROOT / "tools" / "console_libraries"
VENDOR = ROOT / "api" / "console" / "static" / "assets" / "vendor"
HASHES = LIBRARIES / "files.json"
SECONDS_MAX = 300

FILES = {
    "preact.js": "htm/preact/standalone.module.js",
    "preact.LICENSE.txt": "htm/LICENSE",
    "uplot.js": "uplot/dist/uPlot.esm.js",
    "uplot.css": "uplot/dist/uPlot.min.css",
    "uplot.LICENSE.txt": "uplot/LICENSE",
}
"""File in the tree -> file of the packages. ``standalone`` has Preact, its hooks and htm in one."""


def fetch() -> None:
    """Install the locked packages in a temporary directory and copy their files.

    Raises ``CalledProcessError`` if npm fails, among others for a package with another hash.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(LIBRARIES / name, folder)
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(command, cwd=folder, check=True, timeout=SECONDS_MAX)
        VENDOR.mkdir(parents=True, exist_ok=True)
        for name, source in FILES.items():
            shutil.copyfile(Path(folder, "node_modules", source), VENDOR / name)
    HASHES.write_text(json.dumps(hashes(), indent=2) + "\n")


def hashes() -> dict[str, str]:
    """Return file name -> SHA-256 of the files in the tree."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(VENDOR.iterdir())
    }


def differences() -> list[str]:
    """Return the names of files that are missing, changed, or not from a package."""
    found, listed = hashes(), json.loads(HASHES.read_text())
    return sorted(name for name in found.keys() | listed if found.get(name) != listed.get(name))


def main(arguments: list[str]) -> int:
    """Return 0 when the files in the tree are those of the packages."""
    if arguments != ["--check"]:
        fetch()
    changed = differences()
    for name in changed:
        print(f"{VENDOR.relative_to(ROOT) / name} is not the file of the package")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
