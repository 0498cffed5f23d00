"""The architecture page names the packages and their rooms as they are."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "architecture.md"
ROW = re.compile(r"^\| `(\w+)` \| .* \| (.*) \|$", re.MULTILINE)
PARTS = re.compile(r"`(\w+)` \(([^)]*)\)")


def _folders(path: Path) -> set[str]:
    return {one.parent.name for one in path.glob("*/__init__.py")}


def test_every_package_is_listed_with_all_its_rooms() -> None:
    """And no room that is gone; the rooms of a room stand in brackets after it."""
    page = PAGE.read_text().partition("## The packages")[2]
    rows = dict(ROW.findall(page))
    assert rows
    for package, told in rows.items():
        for room, inner in PARTS.findall(told):
            assert set(re.findall(r"`(\w+)`", inner)) == _folders(ROOT / package / room)
        assert set(re.findall(r"`(\w+)`", PARTS.sub(r"`\1`", told))) == _folders(ROOT / package)
