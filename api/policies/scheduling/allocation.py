"""Allocations: administrators audit the allocations of all consumers."""

from api.policies.base import ADMIN, rule

LIST = "os_compute_api:armillary:allocations"

RULES = [rule(LIST, ADMIN, "List all allocations with totals.")]
