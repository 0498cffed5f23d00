"""Tables of a page, as text."""

from typing import Any


def rows(page: Any) -> list[list[str]]:
    """Return the cells of the table that is shown."""
    found: list[list[str]] = page.eval_on_selector_all(
        "tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.innerText.trim()))"
    )
    return found
