"""Examples of output in the documentation: each is compared with what is printed, by some test."""

import re
from pathlib import Path

import pytest

from tests.fixtures.checks import documented_output
from tests.fixtures.checks.documented_output import ROOT, Example

NOT_COMPARED = {
    ("docs/operating/audit.md", 2): "configuration of logrotate",
    ("docs/operating/explain.md", 5): "a request, which test_documented_sessions sends",
}
"""Page and number of an example -> why there is nothing of ours to compare it with."""

_COMPARED = re.compile(r"\bexample\(\s*\"([^\"]+)\"(?:,\s*(\d+))?,?\s*\)")


def documented() -> dict[tuple[str, int], Example]:
    return {
        (page, number): example
        for page in documented_output.pages()
        for number, example in enumerate(documented_output.examples(page), 1)
    }


def compared() -> set[tuple[str, int]]:
    """Return page and number of what tests ask for."""
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    found = (match for text in texts for match in _COMPARED.finditer(text))
    return {(match[1], int(match[2] or 1)) for match in found}


def test_each_example_is_compared_or_says_why_not() -> None:
    """By a call of ``example`` in a test; what names no example any more is dropped."""
    assert compared() & NOT_COMPARED.keys() == set()
    assert compared() | NOT_COMPARED.keys() == documented().keys()


@pytest.mark.parametrize(
    "block",
    [
        "    $ armillary host list\n    Name   State\n",
        "    Name   State\n",
        "    web (8d1f…) is ACTIVE.\n\n    Why: no\n",
        "```\nName   State\n```\n",
        '```json\n{"name": "web"}\n```\n',
    ],
)
def test_output_is_found(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In each form in which pages show it."""
    monkeypatch.setattr(documented_output, "ROOT", tmp_path)
    (tmp_path / "page.md").write_text(f"Text\n\n{block}\nMore text\n", encoding="utf-8")
    (found,) = documented_output.examples("page.md")
    assert found.text.startswith(("Name", "web", "{"))


@pytest.mark.parametrize(
    "block",
    [
        "    armillary host list\n    armillary server list\n",
        "    [zones]\n    name = eu\n",
        "    title: Two kinds\n    seed: 1\n",
        "```python\nimport os\n```\n",
        "```\nuser ──▶ api\n```\n",
    ],
)
def test_commands_and_files_are_not_output(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor are pictures."""
    monkeypatch.setattr(documented_output, "ROOT", tmp_path)
    (tmp_path / "page.md").write_text(f"Text\n\n{block}\nMore text\n", encoding="utf-8")
    assert documented_output.examples("page.md") == []


PRINTED = """\
Hosts up  Hosts
      12  sim-1

1 host is disabled at 2030-01-31T12:00:00Z (req-11111111-1111-4111-8111-111111111111).
"""


@pytest.mark.parametrize(
    ("lines", "is_equal"),
    [
        (("Hosts up  Hosts", "   1  rack1-node07", "", "{}"), True),
        (("Hosts up  Hosts", "…", "{}"), True),
        (("Hosts down  Hosts", "   1  rack1-node07", "", "{}"), False),
        (("Hosts up  Hosts", "   1  rack1-node07", "{}"), False),
        (("Hosts up", "…", "{}"), False),
    ],
    ids=["equal", "any lines", "another column", "a line less", "a column less"],
)
def test_values_differ_and_words_do_not(lines: tuple[str, ...], is_equal: bool) -> None:
    """Numbers, times, names and identifiers are values."""
    last = "2,000 hosts are disabled at 2026-11-23T16:00:00Z (req-5f0c…)."
    documented = Example("page.md", tuple(line.format(last) for line in lines))
    if is_equal:
        documented_output.assert_printed(documented, PRINTED)
    else:
        with pytest.raises(AssertionError, match=r"page\.md differs"):
            documented_output.assert_printed(documented, PRINTED)
