"""Limits: all users see those of their own project."""

from api.policies.base import ADMIN, ANYBODY, rule

SHOW = "os_compute_api:limits"
OTHER_PROJECT = "os_compute_api:limits:other_project"

_PATH = ("GET", "/v2.1/limits")

RULES = [
    rule(SHOW, ANYBODY, "Show the limits and usage of the caller's project."),
    rule(OTHER_PROJECT, ADMIN, "Show the limits and usage of another project.", [_PATH]),
]
