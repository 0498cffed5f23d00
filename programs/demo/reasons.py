"""The reason for an instance's placement in one table cell, from the API's explanation."""

from __future__ import annotations

from armillary.table_columns import printable
from programs.http_client import Document

SUFFIX = "Weigher"
SHOWN_FROM = 0.005


def reason(explanation: Document) -> str:
    """Return the decisive weights, and the hosts on which the build failed before."""
    host = explanation["server"]["host"]
    failed = [one["host"] for one in explanation["attempts"] if one["result"] == "Error"]
    ranked = _ranked(explanation)
    here = next((one for one in ranked if one["host"] == host), None)
    if failed:
        return f"the next best host; the build failed on: {', '.join(failed)}"
    if here is None:
        return "no longer known"
    if len(ranked) == 1:
        return "the only host that fits"
    return f"weight {_weight(here)}{_next_best(ranked, host)}"


def why_nowhere(explanation: Document) -> str:
    """Return the sentence that says why no host fits; empty if there is none."""
    return printable((explanation["trace"] or {}).get("sentence") or "")


def _ranked(explanation: Document) -> list[Document]:
    """Return the selected host and the runners-up; empty if the decision is not known."""
    choices = (explanation["trace"] or {}).get("choices") or []
    return [one for choice in choices for one in (choice, *choice["runners_up"])]


def _weight(one: Document) -> str:
    shares = [
        f"{name.removesuffix(SUFFIX)} {share['weight']:.2f}"
        for name, share in one["shares"].items()
        if abs(share["weight"]) >= SHOWN_FROM
    ]
    return f"{one['weight']:.2f} = {' + '.join(shares)}" if shares else f"{one['weight']:.2f}"


def _next_best(ranked: list[Document], host: str) -> str:
    others = [one for one in ranked if one["host"] != host]
    return f"; next {others[0]['host']} {others[0]['weight']:.2f}" if others else ""
