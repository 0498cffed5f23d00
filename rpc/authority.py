"""Authorisation of RPC methods: one table of roles and scopes, applied to verified identities.

A method that is missing from the table cannot be called. The scope of an agent or a cell conductor
is in the trust list, and the argument that must equal it is checked here. Whether an instance is on
an agent's host is checked by the cell conductor that owns the instance.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from rpc.signing.trust import Identity

Arguments = Mapping[str, Any]
Scope = Callable[[Arguments], Any]

SERVED_BY = {
    "api": "api",
    "cell_conductor": "cell_conductor",
    "compute": "compute",
    "conductor": "conductor",
    "host_states": "cell_conductor",
    "placement": "placement",
    "scheduler": "scheduler",
    "zone": "child_zone",
    "zone_summaries": "parent_zone",
}
"""Topic -> role of its servers; a reply from any other role is rejected."""

ANY_ROLE = "everybody"


@dataclasses.dataclass(frozen=True)
class Allowed:
    """An allowed role and, for roles with a scope, the argument that must equal the scope."""

    role: str
    scope: Scope | None = None


def _argument(name: str) -> Scope:
    return lambda arguments: arguments.get(name)


def _cell_of_batch(arguments: Arguments) -> Any:
    """Return the cell of a batch of host states in wire form."""
    batch = arguments.get("batch")
    data = batch.get("armillary_object.data") if isinstance(batch, Mapping) else None
    return data.get("cell_uuid") if isinstance(data, Mapping) else None


def _zone_of_summary(arguments: Arguments) -> Any:
    """Return the zone of a summary in wire form."""
    summary = arguments.get("summary")
    data = summary.get("armillary_object.data") if isinstance(summary, Mapping) else None
    return data.get("zone") if isinstance(data, Mapping) else None


AGENT_ITSELF = Allowed("compute", _argument("agent"))

API = Allowed("api")
CHILD_ZONE_ITSELF = Allowed("child_zone", _zone_of_summary)
PARENT_ZONE = Allowed("parent_zone")
CELL = Allowed("cell_conductor")
CELL_OF_BATCH = Allowed("cell_conductor", _cell_of_batch)
CELL_ITSELF = Allowed("cell_conductor", _argument("cell_uuid"))
CONDUCTOR = Allowed("conductor")
OPERATOR = Allowed("operator")
PLACEMENT = Allowed("placement")
SCHEDULER = Allowed("scheduler")


def _each(methods: str, *allowed: Allowed) -> dict[str, tuple[Allowed, ...]]:
    return dict.fromkeys(methods.split(), allowed)


TABLE: dict[str, dict[str, tuple[Allowed, ...]]] = {
    "api": {},
    "compute": _each(
        """
        build_instance build_instances delete_instance forget_attempt carry_out abort_order
        get_console_output
        """,
        CELL,
    ),
    "host_states": _each("get_host_states", SCHEDULER),
    "scheduler": {
        **_each("select_destinations select_destinations_many", CONDUCTOR),
        **_each("update_facts update_aggregates delete_aggregate", CONDUCTOR),
        **_each("select_for_zone get_zones refresh_zones get_ways_to_hold", CONDUCTOR),
        **_each("update_host_states", CELL_OF_BATCH),
        **_each("update_instance_info delete_instance_info sync_instance_info", CELL),
    },
    "placement": {
        **_each(
            "get_allocation_candidates explain_candidates get_provider_uuids get_summary", SCHEDULER
        ),
        **_each("claim claim_batch release", SCHEDULER, CONDUCTOR, CELL, OPERATOR),
        **_each("move_allocations", CONDUCTOR, CELL),
        **_each("get_allocations", CONDUCTOR, CELL, OPERATOR),
        **_each("get_provider_allocations release_unchanged set_providers set_trait", CELL),
        **_each("delete_provider", CELL, CONDUCTOR),
        **_each("list_allocations get_usage_totals", CONDUCTOR, OPERATOR),
        **_each("get_provider_usages", CONDUCTOR),
        **_each("set_aggregate_members get_aggregate_members", CONDUCTOR),
    },
    "conductor": {
        **_each(
            """
            operate_server get_console_output list_migrations abort_migration
            create_aggregate get_aggregate update_aggregate delete_aggregate
            add_aggregate_host remove_aggregate_host
            dry_run get_quotas update_quotas
            create_image get_image list_images delete_image
            list_services update_service delete_service get_compute_node
            list_availability_zones
            create_servers delete_server list_server_actions
            explain_server
            create_server_group list_server_groups get_server_group delete_server_group
            create_flavor get_flavor list_flavors update_flavor delete_flavor
            """,
            API,
        ),
        **_each("list_allocations list_zones get_zone refresh_zones", API, OPERATOR),
        **_each("find_orphans find_orphan_migrations sync_aggregate list_cell_servers", OPERATOR),
        **_each("get_server list_servers list_compute_nodes list_aggregates", API, OPERATOR),
        **_each("report_service", API, CONDUCTOR, PLACEMENT, SCHEDULER),
        **_each("get_oldest_services", API, CELL, CONDUCTOR, OPERATOR, PLACEMENT, SCHEDULER),
        **_each("get_facts", SCHEDULER),
        **_each(
            """
            order_in_other_cell answer_other_cell is_wanted_by_other_cell
            hand_over_instance end_cell_change
            """,
            CELL_ITSELF,
        ),
        **_each("list_cell_changes list_moves", CELL),
    },
    "zone": _each("select_hosts create get_attempts cancel forward refresh", PARENT_ZONE),
    "zone_summaries": _each("update_summary", CHILD_ZONE_ITSELF),
    "cell_conductor": {
        **_each(
            """
            build_instances get_instance list_instances delete_instance
            list_instance_actions list_instance_faults find_instance_hosts
            list_services update_service delete_service list_compute_nodes list_known_hosts
            begin_operation go_on_with_operation fail_operation set_lock abort_migration
            list_migrations get_console_output
            get_oldest_services find_living_migrations
            order_for_other_cell order_answered_elsewhere is_order_wanted_elsewhere
            take_over_instance drop_copy
            """,
            CONDUCTOR,
        ),
        **_each("find_instance_hosts list_instances get_instance", CONDUCTOR, OPERATOR),
        **_each(
            """
            order_answered migration_progress list_moving report_services report_compute_nodes
            is_build_wanted is_order_wanted
            build_succeeded builds_succeeded build_failed instance_deleted instance_ended
            list_host_instances list_group_members
            """,
            AGENT_ITSELF,
        ),
        **_each("object_backport_versions", Allowed("compute"), SCHEDULER, CONDUCTOR, API),
    },
}
"""Topic -> method -> allowed callers. Methods of every server are in :data:`BASE`."""

BASE = {"ping": ANY_ROLE, "update_trust": ANY_ROLE}
"""Methods of every server, for all trusted callers; a root key signs each trust list."""


def refusal_reason(
    identity: Identity, topic: str, namespace: str | None, method: str, arguments: Arguments
) -> str | None:
    """Return why this identity may not make this call, None if it may."""
    if namespace is not None:
        return None if method in BASE else f"no role may call {method}"
    allowed = TABLE.get(topic, {}).get(method, ())
    fitting = [one for one in allowed if one.role == identity.role]
    if not fitting:
        return f"the role {identity.role} may not call {method} on {topic}"
    if all(_is_in_scope(one, identity, arguments) for one in fitting):
        return None
    return f"{identity.name} has the scope {identity.scope!s:.80}; {method} is about another one"


def _is_in_scope(allowed: Allowed, identity: Identity, arguments: Arguments) -> bool:
    if allowed.scope is None:
        return True
    return identity.scope is not None and allowed.scope(arguments) == identity.scope


def may_answer(identity: Identity, topic: str, server: str | None) -> bool:
    """Return whether this identity serves the topic, and under this server name."""
    if identity.role != SERVED_BY.get(topic):
        return False
    return topic != "compute" or server is None or identity.scope == server
