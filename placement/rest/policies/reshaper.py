"""Policies of the reshaper."""

from placement.rest.policies.base import SERVICE, rule

RESHAPE = "placement:reshaper:reshape"

RULES = [
    rule(RESHAPE, "Move inventories and allocations between resource providers.", check=SERVICE)
]
