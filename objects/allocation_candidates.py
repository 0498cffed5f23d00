"""AllocationCandidates: placement's answer as columns.

One template claims on any of the providers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class AllocationCandidates(base.ArmillaryObject):
    """The providers that fit, n of them, and what they have of the k resource classes asked for.

    ``amounts`` has shape (k,): the allocation request is the same for all. ``total``, ``reserved``,
    ``used`` (int64) and ``ratio`` (float64) have shape (n, k), before the request. ``ruled_out`` is
    described in ``DecisionTrace``; ``providers_total`` counts all providers that have an inventory.
    """

    VERSION = "1.0"

    fields = {
        "provider_uuids": fields.StringColumnField(default=[]),
        "resource_classes": fields.ListOfStringsField(default=[]),
        "amounts": fields.ColumnField(),
        "total": fields.ColumnField(),
        "reserved": fields.ColumnField(),
        "used": fields.ColumnField(),
        "ratio": fields.ColumnField(),
        "providers_total": fields.IntegerField(default=0),
        "ruled_out": fields.JSONField(default=[]),
    }

    provider_uuids: list[str]
    resource_classes: list[str]
    amounts: np.ndarray
    total: np.ndarray
    reserved: np.ndarray
    used: np.ndarray
    ratio: np.ndarray
    providers_total: int
    ruled_out: list[dict[str, Any]]

    def allocation_request(self, provider_uuid: str) -> dict[str, dict[str, dict[str, int]]]:
        """Return what claims this request on one provider.

        Provider -> resources -> class -> amount.
        """
        amounts = dict(zip(self.resource_classes, self.amounts.tolist(), strict=True))
        return {provider_uuid: {"resources": amounts}}
