"""Compressed answers: which clients take them."""

VARIES = {"Vary": "Accept-Encoding"}
"""Header of every answer that is compressed for those who take it."""


def accepts_gzip(accepted: str | None) -> bool:
    """Return whether a client takes gzip by its header ``Accept-Encoding``."""
    for each in (accepted or "").lower().split(","):
        name, _semicolon, weight = each.partition(";")
        if name.strip() == "gzip":
            return weight.replace(" ", "").rstrip("0.") != "q="
    return False
