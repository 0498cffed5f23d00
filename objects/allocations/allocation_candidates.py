"""AllocationCandidates: placement's answer as columns.

If each candidate is one provider, a single template claims on any of them. Otherwise each candidate
names its template and the providers that fill it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from objects import base, fields
from objects.traces.decision_trace import RuledOut

AllocationRequest = dict[str, dict[str, dict[str, int]]]
"""Provider -> "resources" -> class -> amount: the allocations of a claim."""


@base.ArmillaryObjectRegistry.register
class AllocationCandidates(base.ArmillaryObject):
    """The n candidates that fit, and the inventories of the k requested resource classes.

    ``provider_uuids`` are the hosts: for each candidate the root of its provider tree. The
    candidates of a host need not be adjacent. ``amounts`` has shape (k,): the total request (the
    scheduler joins answers to different queries; then it has a row for each candidate). ``total``,
    ``reserved``, ``used`` (int64) and ``ratio`` (float64) have shape (n, k), before the request; if
    several providers serve a class of a candidate, they are summed. ``ruled_out`` is described in
    ``DecisionTrace``;
    ``providers_total`` counts all providers that have an inventory. ``lacks``,
    without candidates, is all that the nearest host lacks, as in ``DecisionTrace.nearest``: the
    request would fit without it. It is empty if that is unknown.

    Unless every candidate is its root provider alone, ``templates`` lists the allocations: for
    each provider (slot) a dict of class -> amount. Candidate i fills the template
    ``template_of[i]`` with the providers ``slot_uuids[s]``, where s are its entries of ``slots``:
    one for each slot of its template, candidate after candidate.

    Columns and lists are read-only: equal rows may share memory, and answers may share a list. Copy
    them before changing anything.

    On the wire ``provider_ids`` may replace ``provider_uuids``, and ``slot_ids`` may replace
    ``slot_uuids``, with ``provider_check`` as a checksum; the client restores the UUIDs
    (``objects.packed.provider_uuids``).
    """

    provider_uuids: list[str] = fields.UUIDColumnField(default=[])
    provider_ids: np.ndarray | None = fields.PackedColumnField(nullable=True)
    provider_check: str | None = fields.StringField(nullable=True)
    resource_classes: list[str] = fields.ListOfStringsField(default=[])
    amounts: np.ndarray = fields.PackedColumnField()
    total: np.ndarray = fields.PackedColumnField()
    reserved: np.ndarray = fields.PackedColumnField()
    used: np.ndarray = fields.PackedColumnField()
    ratio: np.ndarray = fields.PackedColumnField()
    providers_total: int = fields.IntegerField(default=0)
    ruled_out: list[RuledOut] = fields.JSONField(default=[])
    lacks: list[dict[str, Any]] = fields.JSONField(default=[])
    templates: list[list[dict[str, int]]] = fields.JSONField(default=[])
    template_of: np.ndarray | None = fields.PackedColumnField(nullable=True)
    slots: np.ndarray | None = fields.PackedColumnField(nullable=True)
    slot_uuids: list[str] = fields.UUIDColumnField(default=[])
    slot_ids: np.ndarray | None = fields.PackedColumnField(nullable=True)

    id_mapping = cast("object", None)
    """Set by the client that restored the UUIDs: in two answers with the same object, equal ids
    mean the same providers. It is not sent."""

    fallback_from = cast("int | None", None)
    """Set by the scheduler that joins two answers: the index of the first candidate of the second,
    whose hosts are taken only when those of the first are not left. It is not sent."""

    def restore_uuids(self, uuids_of: Mapping[str, list[str]]) -> None:
        """Replace ids by the UUIDs of roles ("provider", "slot"); marks nothing as changed.

        The lists are not copied and may be shared by several answers. The hosts' ids are kept.
        """
        for role, uuids in uuids_of.items():
            setattr(self, f"_obj_{role}_uuids", uuids)
        self.slot_ids = self.provider_check = None
        self.obj_reset_changes(recursive=False)

    @property
    def is_flat(self) -> bool:
        """Whether every candidate is its root provider alone."""
        return not self.templates

    def allocation_request(self, provider_uuid: str) -> AllocationRequest:
        """Return the allocations of a claim on one host, using the first of its candidates."""
        if self.is_flat:
            return {provider_uuid: {"resources": self._amounts()}}
        return self.request_builder()(self.provider_uuids.index(provider_uuid))

    def request_builder(self) -> Callable[[int], AllocationRequest]:
        """Return a function from a candidate's index to the allocations of its claim."""
        if self.is_flat:
            uuids, amounts = self.provider_uuids, self._amounts()
            return lambda index: {uuids[index]: {"resources": dict(amounts)}}
        template_of, slots, starts = self._filled()

        def request(index: int) -> AllocationRequest:
            template = self.templates[template_of[index]]
            start = starts[index]
            providers = slots[start : start + len(template)].tolist()
            return {
                self.slot_uuids[provider]: {"resources": dict(resources)}
                for provider, resources in zip(providers, template, strict=True)
            }

        return request

    def _amounts(self) -> dict[str, int]:
        return dict(zip(self.resource_classes, self.amounts.tolist(), strict=True))

    def _filled(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return ``template_of``, ``slots``, and the offset of each candidate in ``slots``."""
        assert self.template_of is not None
        assert self.slots is not None
        sizes = np.array([len(template) for template in self.templates])[self.template_of]
        return self.template_of, self.slots, np.cumsum(sizes) - sizes
