"""Links in responses, and pagination."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from armillary.http.validation import invalid

T = TypeVar("T")

VERSION_PATH = "/v2.1"
OLDEST_VERSION_PATH = "/v2"
"""Path of the version without microversions: below it is what version 2.1 has."""

Link = dict[str, str]


@dataclass(frozen=True, slots=True)
class Links:
    """Links below ``prefix`` (scheme and authority); ``path`` and ``query`` are the request's."""

    prefix: str
    path: str
    query: Mapping[str, Any]

    def version(self, path: str = VERSION_PATH) -> list[Link]:
        """Return the link to the root of a version."""
        return [{"rel": "self", "href": f"{self.prefix}{path}/"}]

    def of(self, collection: str, identifier: str) -> list[Link]:
        """Return the two links of an object."""
        below = f"{collection}/{quote(identifier, safe='')}"
        return [
            {"rel": "self", "href": f"{self.prefix}{VERSION_PATH}/{below}"},
            {"rel": "bookmark", "href": f"{self.prefix}/{below}"},
        ]

    def bookmark(self, collection: str, identifier: str) -> list[Link]:
        """Return the link of an object embedded in another."""
        return self.of(collection, identifier)[1:]

    def next_page(self, marker: str) -> list[Link]:
        """Return the link to the items after ``marker``, with the request's other parameters."""
        query = urlencode({**self.query, "marker": marker}, doseq=True)
        return [{"rel": "next", "href": f"{self.prefix}{self.path}?{query}"}]


def page(
    items: Sequence[T], key: Callable[[T], str], limit: int, marker: str | None
) -> tuple[list[T], str | None]:
    """Return one page of a whole list, and the marker of the next page, or None at the end.

    Raises ``Invalid`` for a marker that is not in the list.
    """
    start = 0
    if marker is not None:
        positions = [number for number, item in enumerate(items) if key(item) == marker]
        if not positions:
            raise invalid("marker", marker, "It is not in this list")
        start = positions[0] + 1
    cut = list(items[start : start + limit])
    has_more = start + limit < len(items)
    return cut, key(cut[-1]) if cut and has_more else None
