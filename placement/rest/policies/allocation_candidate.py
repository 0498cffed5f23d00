"""Policies of allocation candidates."""

from placement.rest.policies.base import rule

LIST = "placement:allocation_candidates:list"

RULES = [rule(LIST, "List allocation candidates, and explain why there are no others.")]
