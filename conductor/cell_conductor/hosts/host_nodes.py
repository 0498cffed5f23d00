"""Compute nodes reported by agents: checked, stored when changed, sent to placement."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from oslo_utils import uuidutils
from sqlalchemy.orm import Session

from armillary.context import RequestContext, Signer
from armillary.db import Database
from conductor.cell_conductor.hosts.providers import (
    ChildProvider,
    Providers,
    digest,
    merge_sent_traits,
    sent_traits,
)
from conductor.common.cell_db import compute_nodes, host_seq, models, services
from conductor.common.clock import Clock, moment
from objects.hosts.attribute_shapes import fits
from objects.hosts.compute_node import ComputeNode
from objects.hosts.host_answers import NodeReportResult
from objects.hosts.host_attributes import BY_NAME, Collector, collected_by
from objects.hosts.operator_traits import first_of_operators

BATCH_SIZE = 500
CHILDREN_MAX = 1000
"""Maximum for one node; the same limit as in placement."""
TRAITS_MAX = 1000
NAME_LENGTH_MAX = 255
ATTRIBUTES_BYTES_MAX = 256 * 1024

_CHILD_FIELDS = {field.name for field in dataclasses.fields(ChildProvider)}
_REPORTED = {
    attribute.name
    for attribute in collected_by(Collector.TRACKER, Collector.DRIVER, Collector.MONITOR)
}


@dataclasses.dataclass
class _Plan:
    """Changes of a report: rows to add, rows to update, and errors of invalid nodes."""

    add: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    update: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    errors: dict[int, str] = dataclasses.field(default_factory=dict)
    """Errors by position in the report."""
    kept: list[models.ComputeNode] = dataclasses.field(default_factory=list)
    """Rows whose providers are unchanged."""

    @property
    def is_empty(self) -> bool:
        return not self.add and not self.update


class HostNodes:
    """Endpoint, see ``CellConductorAPI``: takes reports about compute nodes."""

    def __init__(self, *, database: Database, providers: Providers, now: Clock) -> None:
        self._database = database
        self._providers = providers
        self._now = now

    def report_compute_nodes(
        self,
        context: RequestContext,
        agent: str,
        nodes: Sequence[ComputeNode],
        reshape: Collection[str] = (),
    ) -> list[NodeReportResult]:
        """Store nodes and send them to placement.

        The number of SQL statements does not depend on the number of nodes, up to a batch of 500.
        """
        results: list[NodeReportResult] = []
        for start in range(0, len(nodes), BATCH_SIZE):
            batch = nodes[start : start + BATCH_SIZE]
            results += self._report_batch(context, agent, batch, reshape)
        return results

    def _report_batch(
        self,
        context: RequestContext,
        agent: str,
        nodes: Sequence[ComputeNode],
        reshape: Collection[str],
    ) -> list[NodeReportResult]:
        plan = self._database.read(self._plan, agent, nodes, context.signer)
        if not plan.is_empty:
            plan = self._store(agent, nodes, context.signer)
        good = [node for place, node in enumerate(nodes) if place not in plan.errors]
        refused, ratios = self._confirm(context, good, plan.kept, reshape)
        return [
            NodeReportResult(
                node.uuid,
                plan.errors.get(place) or refused.get(node.uuid),
                {} if place in plan.errors else ratios.get(node.uuid, {}),
            )
            for place, node in enumerate(nodes)
        ]

    def _store(self, agent: str, nodes: Sequence[ComputeNode], signer: Signer | None) -> _Plan:
        def write(session: Session) -> _Plan:
            plan = self._plan(session, agent, nodes, signer)
            if plan.is_empty:
                return plan
            seq = host_seq.next_number(session)
            compute_nodes.add(session, [{**values, "seq": seq} for values in plan.add])
            compute_nodes.update(session, [{**values, "seq": seq} for values in plan.update])
            return plan

        return self._database.insert_in_writer(write)

    def _confirm(
        self,
        context: RequestContext,
        nodes: Sequence[ComputeNode],
        kept: Sequence[models.ComputeNode],
        reshape: Collection[str],
    ) -> tuple[dict[str, str], dict[str, dict[str, float]]]:
        """Return why placement refused nodes, and the allocation ratios of all, both by UUID.

        Nodes in ``reshape`` are sent even if placement has confirmed them: an operator may have
        changed their providers while the agent was down.
        """
        uuids = [node.uuid for node in nodes]
        rows = [row for row in kept if self._is_confirmed(row, reshape)]
        if others := set(uuids) - {row.uuid for row in rows}:
            with self._database.reader() as session:
                rows += compute_nodes.find_known(session, others, [])
        pending = [row for row in rows if not self._is_confirmed(row, reshape)]
        refused: dict[str, str] = {}
        if pending:
            found = self._database.read(services.find_by_hosts, {row.host for row in pending})
            disabled = {host for host, service in found.items() if service.disabled}
            refused = self._providers.confirm(context, pending, disabled, reshape=reshape)
            rows = self._database.read(compute_nodes.find_known, uuids, [])
        return refused, {row.uuid: row.allocation_ratios for row in rows}

    def _is_confirmed(self, row: models.ComputeNode, reshape: Collection[str]) -> bool:
        return row.uuid not in reshape and self._providers.is_confirmed(row)

    def _plan(
        self, session: Session, agent: str, nodes: Sequence[ComputeNode], signer: Signer | None
    ) -> _Plan:
        carried = services.find_by_hosts(session, {node.host for node in nodes})
        rows = compute_nodes.find_known(
            session, {node.uuid for node in nodes}, {node.host for node in nodes}
        )
        by_uuid = {row.uuid: row for row in rows}
        by_name = {(row.host, row.node): row.uuid for row in rows}
        plan = _Plan()
        for place, node in enumerate(nodes):
            service = carried.get(node.host)
            error = (
                _why_not_its_own(node, agent, service)
                or _why_bad_name(node, signer)
                or _why_another(node, by_uuid, by_name)
                or _why_bad_attributes(node)
                or _why_bad_children(node)
                or _why_bad_traits(node)
            )
            if error is not None or service is None:
                plan.errors[place] = error or ""
                continue
            values = _values(node, disabled=service.disabled)
            row = by_uuid.get(node.uuid)
            if row is not None and all(getattr(row, name) == values[name] for name in values):
                plan.kept.append(row)
                continue
            if (too_large := _why_too_large(node, values["attributes"])) is not None:
                plan.errors[place] = too_large
                continue
            sent = sent_traits(node.uuid, values["traits"], values["child_providers"])
            if row is None:
                created = {"allocation_ratios": {}, "created_at": moment(self._now())}
                plan.add.append({**values, "sent_traits": sent, **created})
                by_name[node.host, node.node] = node.uuid
            else:
                if row.provider_digest == values["provider_digest"]:
                    plan.kept.append(row)
                sent = merge_sent_traits(row.sent_traits, sent)
                updated = {"sent_traits": sent, "updated_at": moment(self._now())}
                plan.update.append({**values, **updated})
        return plan


def _values(node: ComputeNode, *, disabled: bool) -> dict[str, Any]:
    traits = sorted(set(node.traits))
    children = node.child_providers or None
    return {
        "uuid": node.uuid,
        "host": node.host,
        "node": node.node,
        "attributes": {name: value for name, value in node.attributes.items() if name in _REPORTED},
        "inventories": node.inventories,
        "traits": traits,
        "child_providers": children,
        "provider_digest": digest(node.inventories, traits, disabled=disabled, children=children),
    }


def _why_not_its_own(node: ComputeNode, agent: str, service: models.Service | None) -> str | None:
    if service is None:
        return f"host {node.host} has no service record yet; call report_services first"
    if service.agent != agent:
        return f"host {node.host} belongs to agent {service.agent}, {agent} cannot report it"
    return None


def _why_bad_name(node: ComputeNode, signer: Signer | None) -> str | None:
    """Return why a node may not have its name, which no other provider can have then."""
    if signer is None or node.node == node.host or signer.is_enrolled_for(node.node):
        return None
    return (
        f"node {node.node} of host {node.host} has another name than its host; agent "
        f"{signer.name} is not enrolled for it"
    )


def _why_another(
    node: ComputeNode,
    by_uuid: Mapping[str, models.ComputeNode],
    by_name: Mapping[tuple[str, str], str],
) -> str | None:
    known = by_uuid.get(node.uuid)
    if known is not None and known.host != node.host:
        return (
            f"compute node {node.uuid} belongs to host {known.host}, not to {node.host}; "
            "give this host its own identity, or delete the other host's service"
        )
    present = by_name.get((node.host, node.node), node.uuid)
    if present != node.uuid:
        return (
            f"node {node.node} of host {node.host} is known as {present}, not as {node.uuid}; "
            "restore its identity, or delete its service first"
        )
    return None


def _why_bad_attributes(node: ComputeNode) -> str | None:
    for name, value in node.attributes.items():
        if name in _REPORTED and not fits(BY_NAME[name], value):
            expected = f"{BY_NAME[name].kind.value}, {BY_NAME[name].unit}"
            return f"attribute {name} of node {node.node} is {value!a:.200}, expected {expected}"
    return None


def _why_too_large(node: ComputeNode, attributes: Mapping[str, Any]) -> str | None:
    """Return why attributes are too large; all hosts of a push have to fit into one message."""
    size = len(json.dumps(attributes))
    if size <= ATTRIBUTES_BYTES_MAX:
        return None
    return f"the attributes of node {node.node} have {size} bytes, at most {ATTRIBUTES_BYTES_MAX}"


def _why_bad_children(node: ComputeNode) -> str | None:
    """Return why the child providers of a node are invalid, None if they are valid.

    Placement checks whether they form a tree, and the contents of their inventories.
    """
    children = node.child_providers
    if not isinstance(children, list) or len(children) > CHILDREN_MAX:
        return f"child_providers of node {node.node} must be a list of at most {CHILDREN_MAX}"
    for place, child in enumerate(children):
        error = _why_bad_child(child)
        if error is not None:
            return f"child_providers[{place}] of node {node.node}: {error}"
    return None


def _why_bad_traits(node: ComputeNode) -> str | None:
    """Return why a node, or a provider below it, may not have its traits; None if it may."""
    children = itertools.chain.from_iterable(each["traits"] for each in node.child_providers)
    refused = first_of_operators([*node.traits, *children])
    if refused is None:
        return None
    return (
        f"node {node.node} has the trait {refused}, by which operators let a provider serve other "
        "hosts; hosts do not report it"
    )


def _why_bad_child(child: Any) -> str | None:
    if not isinstance(child, dict) or child.keys() != _CHILD_FIELDS:
        return f"it must have exactly the fields {', '.join(sorted(_CHILD_FIELDS))}"
    if not uuidutils.is_uuid_like(child["uuid"]):
        return f"{str(child['uuid'])[:80]!r} is not a UUID"
    name, traits = child["name"], child["traits"]
    if not isinstance(name, str) or len(name) > NAME_LENGTH_MAX:
        return f"a name has at most {NAME_LENGTH_MAX} characters"
    if not isinstance(traits, list) or not all(isinstance(trait, str) for trait in traits):
        return "traits must be a list of names"
    if len(traits) > TRAITS_MAX:
        return f"it has more than {TRAITS_MAX} traits"
    return None if isinstance(child["inventories"], dict) else "inventories must be an object"
