"""The list of decision records names each page by its title."""

from pathlib import Path

RECORDS = Path(__file__).parents[3] / "docs" / "adr"


def test_the_list_has_the_title_of_each_record() -> None:
    """In the order of their numbers."""
    pages = sorted(RECORDS.glob("0*.md"))
    titles = [page.read_text().splitlines()[0].removeprefix("# ") for page in pages]
    expected = [f"- [{title}]({page.name})" for title, page in zip(titles, pages, strict=True)]
    listed = (RECORDS / "README.md").read_text().splitlines()
    assert len(pages) > 10
    assert [line for line in listed if line.startswith("- ")] == expected
