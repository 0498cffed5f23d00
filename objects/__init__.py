"""Versioned objects: the domain model and wire format of all services, which import it."""

import importlib

_MODULES = (
    "aggregate", "allocations.allocation_candidates",
    "instances.build_request",
    "packed.claim_batch", "hosts.compute_node", "traces.decision_trace",
    "destinations", "flavor", "hosts.fleet", "hosts.host_states",
    "images.image_meta", "instance",
    "instances.instance_action", "instances.instance_command", "instances.instance_fault",
    "instances.instance_group", "instances.migration",
    "packed.provider_uuids", "request_spec", "allocations.resource_query",
    "packed.scheduling_batch",
    "selection", "instances.server_record", "hosts.service", "zones.zone_answer",
    "zones.zone_query", "zones.zone_summary",
)  # fmt: skip


def register_all() -> None:
    """Import every object module, so that all objects can be deserialised. Idempotent."""
    for module in _MODULES:
        importlib.import_module(f"objects.{module}")
