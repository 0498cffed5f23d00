"""DecisionTrace: the reasons for a scheduling decision. Counts add up to the number of hosts."""

from datetime import datetime
from typing import Any

from objects import base, fields

Plain = dict[str, Any]
PlainTrace = dict[str, Any]
"""A trace as it is stored and shown: JSON with the fields of ``DecisionTrace``."""


@base.ArmillaryObjectRegistry.register
class DecisionTrace(base.ArmillaryObject):
    """The trace of one call of select_destinations.

    - ``hosts_total``: number of providers with inventory that placement knows.
    - ``ruled_out``: by placement: dicts with ``kind`` (resource, trait, forbidden_trait, member_of,
      forbidden_aggregate, in_tree, group_policy, combination (of parts that fit one by one),
      pinned_cpus (neither with dedicated CPUs nor with shared ones), disabled, request_filter),
      ``name``, ``count``, and for resources ``asked`` and ``best`` (the most that any of these has
      free; with ``rule``, the nearest value of that limit). Each provider is counted once, at the
      first rule it fails. ``hosts`` are the names of some of these (``host_sample``); it is missing
      if none is known.
    - ``nearest``: for a dry run without candidates: dicts with ``suffix`` (of the request group),
      ``host`` (the provider's name) and ``lacks``: dicts with ``kind`` and ``name``, for resources
      also ``asked``, ``free`` and ``short``.
    - ``candidates``: number of placement's candidates; ``unknown``: number of candidates that are
      not in the host table.
    - ``filters``: in order, dicts with ``name``, ``before``, ``removed`` and ``reasons``: dicts
      with ``reason`` and ``count``, the most frequent first. The counts add up to ``removed`` if
      all hosts were evaluated; otherwise each is a lower bound. ``hosts`` are the names of some of
      the removed hosts; it is missing if there are none.
    - ``choices``: for each instance a dict with ``instance_uuid``, ``host``, ``node``, ``weight``,
      ``shares`` (weigher -> ``raw``; ``normalised`` over the hosts; ``weight``, that multiplied:
      these add up), ``runners_up`` (dicts host, weight, shares) and ``conflicts`` (dicts host,
      reason: refused claims). A trace that is stored also has ``alternates``: hosts, in their
      order.
    - ``timings_ms``: stage -> milliseconds.
    - ``sentence``: for a failed request, what would have to change, in one sentence.
    - ``notes``: sentences about what was asked for and had no effect, because the filter that reads
      it is not enabled.
    - ``old_states``: sentences about hosts whose state is from a snapshot of an earlier scheduler.
    - ``zones``: outcome of each zone of the tree, as ``ZoneAnswer.zones``; empty if no other zone
      could have been asked. In a stored trace, those of later searches follow, and their hosts
      follow the runners-up of each choice.
    """

    request_id: str | None = fields.StringField(nullable=True)
    created_at: datetime | None = fields.DateTimeField(nullable=True)
    hosts_total: int = fields.IntegerField(default=0)
    ruled_out: list[Plain] = fields.JSONField(default=[])
    nearest: list[Plain] = fields.JSONField(default=[])
    candidates: int = fields.IntegerField(default=0)
    unknown: int = fields.IntegerField(default=0)
    filters: list[Plain] = fields.JSONField(default=[])
    choices: list[Plain] = fields.JSONField(default=[])
    timings_ms: dict[str, float] = fields.JSONField(default={})
    sentence: str | None = fields.StringField(nullable=True)
    notes: list[str] = fields.JSONField(default=[])
    old_states: list[str] = fields.JSONField(default=[])
    zones: list[Plain] = fields.JSONField(default=[])
