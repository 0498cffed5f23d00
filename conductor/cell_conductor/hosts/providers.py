"""Providers in placement of this cell's compute nodes, kept in sync.

A node's row has the digest of what placement should store (``provider_digest``) and of what it last
confirmed (``confirmed_digest``). While the two differ, a periodic task retries.
"""

import dataclasses
import hashlib
import json
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import os_traits
from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.db import Database
from armillary.logs.outage_log import OutageLog
from conductor.common.cell_db import compute_nodes, host_seq, models, services
from conductor.common.cell_db.compute_nodes import Confirmation
from conductor.common.clock import Clock, moment
from objects.hosts.provider_report import ProviderReport, ProviderResult
from placement.interface import PlacementAPI

LOG = logging.getLogger(__name__)

BATCH_SIZE = 200
_DISABLED = os_traits.COMPUTE_STATUS_DISABLED
_OUTCOME_UNKNOWN = (exception.Unavailable, exception.RpcFailed)


@dataclasses.dataclass(frozen=True, slots=True)
class ChildProvider:
    """A provider below a compute node's, as its agent reports it and a row stores it."""

    uuid: str
    name: str
    parent_uuid: str
    inventories: dict[str, dict[str, float]]
    traits: list[str]


def children_of(stored: Sequence[Any] | None) -> list[ChildProvider]:
    """Return child providers as they are reported and stored, parents before their children."""
    return [ChildProvider(**child) for child in stored or ()]


def digest(
    inventories: Mapping[str, Mapping[str, float]],
    traits: Sequence[str],
    *,
    disabled: bool,
    children: Sequence[object] | None = None,
) -> str:
    """Return a digest of what placement should store of a provider and its children."""
    content = [inventories, sorted(traits), disabled, *([children] if children else ())]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def digest_of(row: models.ComputeNode, *, disabled: bool) -> str:
    return digest(row.inventories, row.traits, disabled=disabled, children=row.child_providers)


def sent_traits(
    node_uuid: str, traits: Sequence[str], children: Sequence[Any] | None
) -> dict[str, list[str]]:
    """Return what placement stores of ours after this update: provider -> traits."""
    of_children = {child.uuid: sorted(child.traits) for child in children_of(children)}
    return {node_uuid: sorted(traits), **of_children}


def merge_sent_traits(
    before: Mapping[str, Sequence[str]], now: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Return what placement may store of ours while it is unknown which of two updates it got."""
    return {uuid: sorted({*before.get(uuid, ()), *now.get(uuid, ())}) for uuid in {*before, *now}}


@dataclasses.dataclass(frozen=True)
class StatusChange:
    """New digest of a node, and whether placement had confirmed the previous one.

    ``order`` is the number of the change.
    """

    uuid: str
    digest: str
    was_confirmed: bool
    order: int


def status_change(row: models.ComputeNode, *, disabled: bool) -> StatusChange:
    """Return the change for a stored node that has its number, before its update."""
    return StatusChange(
        uuid=row.uuid,
        digest=digest_of(row, disabled=disabled),
        was_confirmed=row.confirmed_digest == row.provider_digest,
        order=row.seq,
    )


class Providers:
    """The cell's compute nodes as resource providers in placement."""

    def __init__(
        self, conf: cfg.ConfigOpts, *, database: Database, placement: PlacementAPI, now: Clock
    ) -> None:
        self._conf = conf
        self._database = database
        self._placement = placement
        self._now = now
        self._outage = OutageLog(LOG, "Placement")

    def is_confirmed(self, row: models.ComputeNode) -> bool:
        """Return whether placement has confirmed the current state recently.

        Confirming again from time to time shows allocation ratios that an operator changed in
        placement.
        """
        age = timedelta(seconds=self._conf.cell.provider_refresh_seconds)
        return (
            row.confirmed_digest == row.provider_digest
            and row.confirmed_at is not None
            and row.confirmed_at > moment(self._now()) - age
        )

    def confirm(
        self,
        context: RequestContext,
        nodes: Sequence[models.ComputeNode],
        disabled_hosts: Collection[str],
        *,
        reshape: Collection[str] = (),
    ) -> dict[str, str]:
        """Send nodes to placement; return node -> error for those that it refused.

        Allocations on the nodes in ``reshape`` may move between providers of the same node.
        """
        errors: dict[str, str] = {}
        for start in range(0, len(nodes), BATCH_SIZE):
            errors |= self._confirm_batch(
                context, nodes[start : start + BATCH_SIZE], disabled_hosts, reshape
            )
        return errors

    def confirm_pending(self) -> int:
        """Send unconfirmed nodes to placement again; return their number."""
        with self._database.reader() as session:
            rows = compute_nodes.list_unconfirmed(session, limit=BATCH_SIZE)
            found = services.find_by_hosts(session, {row.host for row in rows})
        if rows:
            disabled = {host for host, service in found.items() if service.disabled}
            errors = self.confirm(admin_context(), rows, disabled)
            for uuid, error in errors.items():
                LOG.debug("Cannot update node %s in placement: %s", uuid, error)
        return len(rows)

    def set_disabled(
        self, context: RequestContext, changes: Sequence[StatusChange], *, disabled: bool
    ) -> None:
        """Set or remove COMPUTE_STATUS_DISABLED; failed updates are left to ``confirm_pending``."""
        try:
            done = [
                change
                for change in changes
                if self._placement.set_trait(
                    context, change.uuid, _DISABLED, present=disabled, order=change.order
                )
            ]
        except (exception.NotFound, *_OUTCOME_UNKNOWN) as error:
            LOG.warning("Cannot update the status of hosts in placement, will retry: %s", error)
            return
        confirmed = [
            Confirmation(change.uuid, change.order, {"confirmed_digest": change.digest})
            for change in done
            if change.was_confirmed
        ]
        self._database.run_in_writer(compute_nodes.confirm, confirmed)

    def delete(self, context: RequestContext, nodes: Sequence[models.ComputeNode]) -> None:
        """Delete providers with their children.

        Raises InUse; Unavailable if the outcome is unknown.
        """
        for row in nodes:
            later = self._delete(context, row, self._next_number())
            if later is not None:  # of before this cell's database was restored from a backup
                self._delete(context, row, self._next_number(after=later))

    def delete_again(
        self, context: RequestContext, nodes: Sequence[models.ComputeNode], order: int
    ) -> None:
        """Delete providers that reports made again before their nodes went, at number ``order``."""
        for row in nodes:
            self._delete(context, row, order)

    def _next_number(self, after: int = 0) -> int:
        def take(session: Session) -> int:
            host_seq.skip_to(session, after)
            return host_seq.next_number(session)

        return self._database.run_in_writer(take)

    def _delete(self, context: RequestContext, row: models.ComputeNode, order: int) -> int | None:
        if row.sent_traits.keys() - {row.uuid}:
            self._delete_children(context, row, order)
        return self._placement.delete_provider(context, row.uuid, order=order)

    def _delete_children(
        self, context: RequestContext, row: models.ComputeNode, order: int
    ) -> None:
        report = _provider(row, disabled=True)
        report["order"] = order
        report["children"] = []
        report["former_children"] = sorted(row.sent_traits.keys() - {row.uuid})
        (result,) = self._placement.set_providers(context, [report])
        if result.error:
            raise exception.InUse(what=f"The provider of node {row.node}", reason=result.error)

    def _confirm_batch(
        self,
        context: RequestContext,
        nodes: Sequence[models.ComputeNode],
        disabled_hosts: Collection[str],
        reshape: Collection[str],
    ) -> dict[str, str]:
        reports = [_provider(row, disabled=row.host in disabled_hosts) for row in nodes]
        for report in reports:
            if report["uuid"] in reshape:
                report["reshape"] = True
        self._clear_confirmations(nodes)
        try:
            results = self._placement.set_providers(context, reports)
        except _OUTCOME_UNKNOWN as error:
            self._outage.failed(error)
            sentence = "placement does not answer; the inventory is stored and will be sent later"
            return {row.uuid: sentence for row in nodes}
        self._outage.succeeded()
        self._store_confirmed(nodes, disabled_hosts, results)
        self._catch_up(nodes, results)
        self._remove_foreign(nodes, results)
        return {result.uuid: result.error for result in results if result.error}

    def _catch_up(
        self, nodes: Sequence[models.ComputeNode], results: Sequence[ProviderResult]
    ) -> None:
        """Give nodes numbers after those that placement has seen of them.

        A report that came late is harmless. But a cell whose database was restored from a backup
        would be ignored until its sequence gets there.
        """
        later = {
            row.uuid: result.later_order
            for row, result in zip(nodes, results, strict=True)
            if result.later_order is not None
        }
        if not later:
            return

        def write(session: Session) -> None:
            rows = compute_nodes.find_known(session, later, [])
            behind = {row.host: later[row.uuid] for row in rows if row.seq < later[row.uuid]}
            if behind:
                host_seq.skip_to(session, max(behind.values()))
                host_seq.touch_hosts(session, behind)
                LOG.warning(
                    "Placement has seen later changes of %d hosts of this cell, such as %s, whose "
                    "numbers now follow on these; was its database restored from a backup?",
                    len(behind), next(iter(behind)),
                )  # fmt: skip

        self._database.run_in_writer(write)

    def _remove_foreign(
        self, nodes: Sequence[models.ComputeNode], results: Sequence[ProviderResult]
    ) -> None:
        """Remove new nodes whose UUID placement knows as that of another's provider.

        An agent chose it, by mistake or to harm; nothing of it goes to the schedulers.
        """
        foreign = [
            row.uuid
            for row, result in zip(nodes, results, strict=True)
            if result.is_not_its_own and row.confirmed_at is None
        ]
        if not foreign:
            return
        for uuid in foreign:
            LOG.warning(
                "Removing compute node %s: its resource provider belongs to another owner", uuid
            )
        now = moment(self._now())
        self._database.run_in_writer(compute_nodes.remove_unconfirmed, foreign, now=now)

    def _clear_confirmations(self, nodes: Sequence[models.ComputeNode]) -> None:
        """Clear the confirmation of nodes of which placement is about to get another state.

        This conductor may be killed before it stores that placement has it. A host that returns to
        its former state meanwhile would count as confirmed, and placement would keep the other one.
        """
        changed = [
            {"uuid": row.uuid, "confirmed_digest": None}
            for row in nodes
            if row.confirmed_digest not in (None, row.provider_digest)
        ]
        if changed:
            self._database.run_in_writer(compute_nodes.update, changed)

    def _store_confirmed(
        self,
        nodes: Sequence[models.ComputeNode],
        disabled_hosts: Collection[str],
        results: Sequence[ProviderResult],
    ) -> None:
        confirmed = [
            Confirmation(
                row.uuid,
                row.seq,
                {
                    "confirmed_digest": digest_of(row, disabled=row.host in disabled_hosts),
                    "sent_traits": sent_traits(row.uuid, row.traits, row.child_providers),
                    "confirmed_at": moment(self._now()),
                    "allocation_ratios": {
                        resource_class: inventory["allocation_ratio"]
                        for resource_class, inventory in result.inventories.items()
                    },
                },
            )
            for row, result in zip(nodes, results, strict=True)
            if not result.error and result.later_order is None
        ]
        self._database.run_in_writer(compute_nodes.confirm, confirmed)


def _provider(row: models.ComputeNode, *, disabled: bool) -> ProviderReport:
    sent = row.sent_traits
    status = {_DISABLED} if disabled else set()
    report: ProviderReport = {
        "uuid": row.uuid,
        "name": row.node,
        "inventories": row.inventories,
        "traits": sorted({*row.traits, *status}),
        "managed_traits": _managed(row.uuid, {*row.traits, _DISABLED}, sent),
        "order": row.seq,
    }
    children = children_of(row.child_providers)
    former = sorted(sent.keys() - {row.uuid, *(child.uuid for child in children)})
    if children or former:
        report["children"] = [
            {
                "uuid": child.uuid,
                "name": child.name,
                "parent_uuid": child.parent_uuid,
                "inventories": child.inventories,
                "traits": child.traits,
                "managed_traits": _managed(child.uuid, child.traits, sent),
            }
            for child in children
        ]
        report["former_children"] = former
    return report


def _managed(uuid: str, traits: Iterable[str], sent: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the traits managed by us: current ones and possible leftovers."""
    return sorted({*traits, *sent.get(uuid, ())})
