"""Allocations of consumers on hosts."""

from api.schemas.base import LINKS, OBJECT, PAGE, fields, listed

INDEX_QUERY = fields(PAGE)

INDEX_ANSWER = fields(
    {"allocations": listed(OBJECT), "totals": OBJECT, "allocations_links": LINKS},
    required=["allocations", "totals"],
)
