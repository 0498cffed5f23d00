"""constraints-hashes.txt is what constraints.txt says, with hashes and nothing else."""

import configparser
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
BUILD_BACKEND = "setuptools"
LINE = re.compile(r"(?P<name>[\w.-]+)==(?P<version>\S+)( --hash=sha256:[0-9a-f]{64})+")


def lines(path: Path) -> list[str]:
    """Return the logical lines without comments."""
    joined = path.read_text().replace(" \\\n    ", " ")
    return [line for line in joined.splitlines() if not line.startswith("#")]


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def hashed() -> dict[str, str]:
    """Return the version of each package with hashes; fails for a line of any other form."""
    found = [LINE.fullmatch(line) for line in lines(ROOT / "constraints-hashes.txt")]
    assert all(found)
    return {normalised(one["name"]): one["version"] for one in found if one}


def test_all_versions_are_those_of_the_constraints() -> None:
    """A change of constraints.txt needs `make constraints-hashes`."""
    pinned = dict(line.split("==") for line in lines(ROOT / "constraints.txt"))
    expected = {normalised(name): version for name, version in pinned.items()}
    listed = {name: version for name, version in hashed().items() if name != BUILD_BACKEND}
    assert {name: expected.get(name) for name in listed} == listed


def test_all_that_is_installed_has_hashes() -> None:
    """pip refuses to install a package without one."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    wanted = setup["options"]["install_requires"].split("\n")
    names = {normalised(re.split(r"[\s<>=\[]", one.strip())[0]) for one in wanted if one.strip()}
    assert names - hashed().keys() == set()
