"""Versioned objects: the wire and domain model of all services. Imports none of them."""

from __future__ import annotations

import importlib

_MODULES = (
    "aggregate",
    "allocation",
    "allocation_candidates",
    "build_request",
    "cell_mapping",
    "child_zone",
    "claim_batch",
    "compute_node",
    "decision_trace",
    "destinations",
    "flavor",
    "host_mapping",
    "host_states",
    "image_meta",
    "instance",
    "instance_action",
    "instance_fault",
    "instance_group",
    "instance_mapping",
    "instance_order",
    "migration",
    "provider_uuids",
    "request_spec",
    "resource_query",
    "scheduling_batch",
    "selection",
    "server_record",
    "service",
    "zone_answer",
    "zone_query",
    "zone_summary",
)


def register_all() -> None:
    """Import every object module, so that all of them can be received. Idempotent."""
    for module in _MODULES:
        importlib.import_module(f"objects.{module}")
