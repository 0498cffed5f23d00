"""Cells and zones that did not answer, as lists of the API name them."""

from programs.http_client import Document

_ZONE = "zone "
"""Prefix of zones among the cells that the API reports."""
UNNAMED = "a part of the deployment"
"""What the API tells others than administrators."""


def parts(answer: Document) -> list[str]:
    """Return what a list is missing, such as "cell cell2"; nothing if all answered."""
    cells = answer.get("armillary:down_cells", [])
    if not cells and answer.get("armillary:partial", False):
        return [UNNAMED]
    return [cell if cell.startswith(_ZONE) else f"cell {cell}" for cell in cells]
