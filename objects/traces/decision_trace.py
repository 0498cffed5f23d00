"""DecisionTrace: the reasons for a scheduling decision. Counts add up to the number of hosts."""

from datetime import datetime
from typing import Any, NotRequired, TypedDict

from objects import base, fields
from objects.zones.zone_answer import ZoneOutcome

Plain = dict[str, Any]
PlainTrace = Plain
"""A trace as it is stored and shown: JSON with the fields of ``DecisionTrace``."""


class RuledOut(TypedDict):
    """Providers that fail a rule of placement, each counted at the first rule that it fails.

    ``kind`` is resource, trait, forbidden_trait, member_of, forbidden_aggregate, in_tree,
    group_policy, combination (of parts that fit one by one), pinned_cpus (neither with dedicated
    CPUs nor with shared ones), disabled or request_filter. Resources have what was ``asked`` and
    the ``best``: the most that any of these has free; with ``rule``, the nearest value of that
    limit. ``hosts`` are the names of some of these (``host_sample``); placement itself names their
    ``providers`` (UUIDs of roots) instead.
    """

    kind: str
    name: str
    count: int
    asked: NotRequired[int]
    best: NotRequired[int]
    rule: NotRequired[str]
    hosts: NotRequired[list[str]]
    providers: NotRequired[list[str]]


class NearMiss(TypedDict):
    """A provider that nearly fits the request group of a ``suffix``, and what it lacks."""

    suffix: str
    host: str
    lacks: list[Plain]


class FilterReason(TypedDict):
    """Number of hosts that a filter removed for a reason."""

    reason: str
    count: int


class FilterStep(TypedDict):
    """Hosts ``before`` a filter, and how many it removed, the most frequent reason first.

    The counts add up to ``removed`` if all hosts were evaluated; otherwise each is a lower bound.
    ``hosts`` are the names of some of the removed hosts.
    """

    name: str
    before: int
    removed: int
    reasons: list[FilterReason]
    hosts: NotRequired[list[str]]


@base.ArmillaryObjectRegistry.register
class DecisionTrace(base.ArmillaryObject):
    """The trace of one call of select_destinations.

    - ``hosts_total``: number of providers with inventory that placement knows.
    - ``ruled_out``: by placement.
    - ``nearest``: for a dry run without candidates; ``lacks`` are dicts with ``kind`` and ``name``,
      for resources also ``asked``, ``free`` and ``short``.
    - ``candidates``: number of placement's candidates; ``unknown``: number of candidates that are
      not in the host table.
    - ``filters``: in order.
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
    ruled_out: list[RuledOut] = fields.JSONField(default=[])
    nearest: list[NearMiss] = fields.JSONField(default=[])
    candidates: int = fields.IntegerField(default=0)
    unknown: int = fields.IntegerField(default=0)
    filters: list[FilterStep] = fields.JSONField(default=[])
    choices: list[Plain] = fields.JSONField(default=[])
    timings_ms: dict[str, float] = fields.JSONField(default={})
    sentence: str | None = fields.StringField(nullable=True)
    notes: list[str] = fields.JSONField(default=[])
    old_states: list[str] = fields.JSONField(default=[])
    zones: list[ZoneOutcome] = fields.JSONField(default=[])
