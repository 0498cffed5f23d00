"""Name the files of the tree that sdist and wheel lack: compare_dist.py TREE SDIST WHEEL."""

import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

INSTALLED = {"docs": "share/doc/armillary", "etc": "share/armillary"}
"""Folder of the tree -> where an installation has it."""

NOT_INSTALLED = ("docs/news/", "etc/armillary/config-generator/", "etc/debian/")
DEVELOPERS = frozenset({"tests", "tools"})


def main(tree: Path, sdist: Path, wheel: Path) -> int:
    """Print what is missing; return the exit code."""
    wanted = list(_files(tree))
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    with zipfile.ZipFile(wheel) as archive:
        installed = {name.partition(".data/data/")[2] or name for name in archive.namelist()}
    missing = [f"sdist: {name}" for name in wanted if name not in packed]
    missing += [f"wheel: {name}" for name in wanted if _place(name) not in installed | {None}]
    sys.stdout.writelines(f"{line}\n" for line in missing)
    return 1 if missing else 0


def _files(tree: Path) -> Iterator[str]:
    """Yield the files of the tree, without those of tools whose name begins with a dot."""
    for path in sorted(tree.rglob("*")):
        name = path.relative_to(tree)
        if path.is_file() and not any(part.startswith(".") for part in name.parts):
            yield name.as_posix()


def _place(name: str) -> str | None:
    """Return where a wheel has a file of the tree, None if it has none."""
    top, *rest = PurePosixPath(name).parts
    if not rest or top in DEVELOPERS or name.startswith(NOT_INSTALLED):
        return None
    return "/".join([INSTALLED.get(top, top), *rest])


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
