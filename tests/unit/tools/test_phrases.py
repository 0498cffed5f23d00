"""Tests of the check for phrases: it finds what it lists, and leaves legitimate text alone."""

from pathlib import Path
from typing import Any

import pytest

from tools import phrases
from tools.phrases import Phrase

ENTRIES = phrases.read_phrases()


def complaints(entry: dict[str, Any], text: str) -> list[str]:
    return list(phrases.complaints([Phrase.of(entry)], "module.py", text))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["pattern"])
def test_a_phrase_is_found(entry: dict[str, Any]) -> None:
    """Each of its wrong examples is a complaint, and there is one at least."""
    assert entry["wrong"]
    assert [text for text in entry["wrong"] if not complaints(entry, text)] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["pattern"])
def test_legitimate_text_is_left_alone(entry: dict[str, Any]) -> None:
    """None of its right examples is a complaint, and there is one at least."""
    assert entry["right"]
    assert [text for text in entry["right"] if complaints(entry, text)] == []


def test_a_complaint_names_line_and_replacement() -> None:
    """The phrase may be broken over two lines of a comment: the first one counts."""
    entry = {"pattern": "old words", "write": "new words"}
    (complaint,) = complaints(entry, "x = 1\n# these are old\n# words\n")
    assert complaint == "module.py:2: 'old words'; write: new words"


def test_a_phrase_is_limited_to_its_files() -> None:
    """A rule about modules says nothing about pages."""
    phrase = Phrase.of({"pattern": "old", "write": "new", "files": ".py"})
    assert list(phrases.complaints([phrase], "page.md", "old")) == []


def test_files_that_tools_made_are_left_out(tmp_path: Path) -> None:
    """Neither hidden folders nor caches are read, nor files that hold no text of ours."""
    kept = {tmp_path / "a.py", tmp_path / "docs" / "b.md", tmp_path / "Makefile"}
    left_out = {
        tmp_path / ".venv" / "c.py", tmp_path / "__pycache__" / "d.py",
        tmp_path / "build" / "e.py", tmp_path / "f.png",
    }  # fmt: skip
    for path in kept | left_out:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert set(phrases.files([tmp_path])) == kept
