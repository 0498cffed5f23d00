"""Policies of the reshaper."""

from placement.rest.policies.base import SERVICE, Rule

RESHAPE = "placement:reshaper:reshape"

RULES = {
    RESHAPE: Rule("Move inventories and allocations between resource providers.", check=SERVICE)
}
