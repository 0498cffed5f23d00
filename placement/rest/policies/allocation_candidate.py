"""Policies of allocation candidates."""

from placement.rest.policies.base import Rule

LIST = "placement:allocation_candidates:list"

RULES = {LIST: Rule("List allocation candidates, and explain why there are no others.")}
