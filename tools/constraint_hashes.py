"""Write constraints-hashes.txt: the packages that the services need, each with its hashes.

pip tells which packages and files it would install, and downloads none of them for that where the
index has their metadata. Only wheels for Linux are listed. The file has no addresses: pip takes the
packages from wherever it is configured to, and refuses what has another hash.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
HASHES = ROOT / "constraints-hashes.txt"
PYTHONS = ("3.11", "3.12", "3.13")
MACHINES = ("x86_64", "aarch64")
GLIBC_MINORS = range(17, 40)
BUILD_BACKEND = "setuptools"
HEADER = """\
# The packages that the services need, with the hashes of their wheels for Linux; made by
# `make constraints-hashes` from constraints.txt. How to install with it: docs/operating/install.md.
"""


def main() -> int:
    needed = [f"{name}=={version}" for name, version in _files([str(ROOT), BUILD_BACKEND])]
    hashes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for python in PYTHONS:
        for machine in MACHINES:
            for package, found in _files(needed, *_target(python, machine)).items():
                hashes[package].add(found)
    HASHES.write_text(HEADER + "".join(map(_entry, sorted(hashes.items()))))
    return 0


def _files(wanted: Sequence[str], *options: str) -> dict[tuple[str, str], str]:
    """Return name and version -> SHA-256 of all that pip would install, except for this project."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        subprocess.run(
            [
                sys.executable, "-m", "pip", "install", "--quiet", "--dry-run",
                "--ignore-installed", f"--report={report}", f"--constraint={CONSTRAINTS}",
                f"--target={folder}/target", *options, *wanted,
            ],
            check=True,
            # a machine's own indexes may have other files of the same versions
            env={**os.environ, "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": ""},
        )  # fmt: skip
        installed: list[dict[str, Any]] = json.loads(report.read_text())["install"]
    return {
        (one["metadata"]["name"].lower(), one["metadata"]["version"]): info["hashes"]["sha256"]
        for one in installed
        if (info := one["download_info"].get("archive_info"))
    }


def _target(python: str, machine: str) -> list[str]:
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in GLIBC_MINORS]
    return [
        "--no-deps", "--only-binary=:all:", f"--python-version={python}",
        *(f"--platform={each}" for each in [*platforms, f"manylinux2014_{machine}"]),
    ]  # fmt: skip


def _entry(package: tuple[tuple[str, str], set[str]]) -> str:
    (name, version), hashes = package
    options = (f"--hash=sha256:{each}" for each in sorted(hashes))
    return " \\\n    ".join([f"{name}=={version}", *options]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
