"""ZoneSummary: upper bounds of what a zone's sub-tree can provide, pushed to its parent."""

import dataclasses
from datetime import datetime
from typing import Any

from objects import base, fields


@dataclasses.dataclass(frozen=True, slots=True)
class ProviderCapabilities:
    """Placement's part of a summary: ``resources`` maps classes to the most free on one provider.

    A request for more of a class, or for a trait not named, has no candidate.
    """

    resources: dict[str, int]
    traits: list[str]
    providers: int


@base.ArmillaryObjectRegistry.register
class ZoneSummary(base.ArmillaryObject):
    """A summary may overstate but never understate: what it rules out is nowhere below ``zone``.

    ``sender`` is the process that created it and ``seq`` its number there, which increases across
    restarts: older and repeated summaries are ignored. It is valid for the receiver's expiry time,
    a multiple of ``push_seconds``. ``capabilities`` is derived from ``host_attributes`` by their
    rules (``{"attributes": {name: value}, "resources": {class: most free on one provider},
    "traits": [...], "filters": [those that every zone below runs], "profiles": [...]}``).
    ``counts`` has ``hosts``, ``hosts_up``, ``hosts_disabled``, ``zones`` (of the whole sub-tree),
    ``own_hosts``, and ``each``, the counts of each of its zones alone (``{"columns": [names],
    "rows": {zone: [numbers]}}``; null or missing if not reported). ``depth`` is 1 for a zone
    without children. ``zones`` names the sub-tree's zones with their state, nested: ``[{"name",
    "state", "zones": [...]}]``.
    """

    zone: str = fields.StringField()
    sender: str = fields.StringField()
    seq: int = fields.IntegerField()
    sent_at: datetime = fields.DateTimeField()
    push_seconds: float = fields.FloatField()
    depth: int = fields.IntegerField()
    capabilities: dict[str, Any] = fields.JSONField()
    counts: dict[str, Any] = fields.JSONField()
    zones: list[dict[str, object]] = fields.JSONField(default=[])
