"""Versioned objects: the domain model and wire format of all services, which import it."""

from __future__ import annotations

import importlib

_MODULES = (
    "aggregate",
    "allocation",
    "allocation_candidates",
    "build_request",
    "cell_mapping",
    "zones.child_zone",
    "packed.claim_batch",
    "compute_node",
    "traces.decision_trace",
    "destinations",
    "flavor",
    "host_mapping",
    "host_states",
    "image_meta",
    "instance",
    "instance_action",
    "instance_command",
    "instance_fault",
    "instance_group",
    "instance_mapping",
    "migration",
    "packed.provider_uuids",
    "request_spec",
    "resource_query",
    "packed.scheduling_batch",
    "selection",
    "server_record",
    "service",
    "zones.zone_answer",
    "zones.zone_query",
    "zones.zone_summary",
)


def register_all() -> None:
    """Import every object module, so that all objects can be deserialised. Idempotent."""
    for module in _MODULES:
        importlib.import_module(f"objects.{module}")
