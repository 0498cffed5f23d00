"""Policies of the reshaper."""

from __future__ import annotations

from placement.rest.policies.base import SERVICE, rule

RESHAPE = "placement:reshaper:reshape"

RULES = [
    rule(
        RESHAPE,
        SERVICE,
        "Move inventories and allocations between resource providers.",
        [("POST", "/reshaper")],
    ),
]
