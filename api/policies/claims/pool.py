"""Pools: for operators."""

from api.policies.base import ADMIN, rule

INDEX = "os_compute_api:armillary:pools:index"

RULES = [rule(INDEX, ADMIN, "List pools with what is free on them.")]
