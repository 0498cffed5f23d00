"""Pools: for operators."""

from __future__ import annotations

from api.policies.base import ADMIN, rule

INDEX = "os_compute_api:armillary:pools:index"

RULES = [rule(INDEX, ADMIN, "List pools with what is free on them.")]
