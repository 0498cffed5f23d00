"""The page that says where to change things names files that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "contributing" / "where-to-change.md"
ANSWERS_MIN = 20


def test_every_named_file_exists() -> None:
    """In the second column of each row; at least twenty rows."""
    rows = [line.rsplit("|", 2)[1] for line in PAGE.read_text().splitlines() if line[:2] == "| "]
    named = [re.findall(r"`([\w./-]+)`", row) for row in rows[1:]]
    missing = [path for paths in named for path in paths if not (ROOT / path).exists()]
    assert missing == []
    assert len([paths for paths in named if paths]) >= ANSWERS_MIN
