"""DecisionTrace: why a scheduling decision came out so. Numbers add up to the fleet size."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class DecisionTrace(base.ArmillaryObject):
    """One for each call of select_destinations.

    - ``hosts_total``: providers with inventory that placement knows, the size of the fleet.
    - ``ruled_out``: by placement: dicts with ``kind`` (resource, trait, forbidden_trait, member_of,
      forbidden_aggregate, in_tree, group_policy, combination (of parts that fit one by one),
      disabled, request_filter), ``name``, ``count``, and for resources
      ``asked`` and ``best`` (the most that any of these has free). Each provider is counted once,
      at the first rule it fails.
    - ``candidates``: what placement answered; ``unknown``: candidates that are no host of the
      table.
    - ``filters``: in order, dicts with ``name``, ``before``, ``removed``, ``reason`` (of one
      removed host).
    - ``choices``: for each instance a dict with ``instance_uuid``, ``host``, ``node``, ``weight``,
      ``shares``
      (weigher -> part of the weight), ``runners_up`` (dicts host, weight, shares) and ``conflicts``
      (dicts host, reason: refused claims).
    - ``timings_ms``: stage -> milliseconds.
    - ``sentence``: for a failed request, what would have to change, in one sentence.
    """

    VERSION = "1.0"

    fields = {
        "request_id": fields.StringField(nullable=True),
        "created_at": fields.DateTimeField(nullable=True),
        "hosts_total": fields.IntegerField(default=0),
        "ruled_out": fields.JSONField(default=[]),
        "candidates": fields.IntegerField(default=0),
        "unknown": fields.IntegerField(default=0),
        "filters": fields.JSONField(default=[]),
        "choices": fields.JSONField(default=[]),
        "timings_ms": fields.JSONField(default={}),
        "sentence": fields.StringField(nullable=True),
    }

    request_id: str | None
    created_at: datetime | None
    hosts_total: int
    ruled_out: list[dict[str, Any]]
    candidates: int
    unknown: int
    filters: list[dict[str, Any]]
    choices: list[dict[str, Any]]
    timings_ms: dict[str, float]
    sentence: str | None
