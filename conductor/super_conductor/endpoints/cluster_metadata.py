"""Cluster metadata that schedulers fetch when they start."""

from __future__ import annotations

from typing import Any

from armillary.context import RequestContext
from conductor.super_conductor.hosts.cluster_metadata import MetadataPublisher


class ClusterMetadataEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, facts: MetadataPublisher) -> None:
        self._metadata = facts

    def get_cluster_metadata(self, context: RequestContext) -> dict[str, Any]:
        return self._metadata.get_cluster_metadata()
