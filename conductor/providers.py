"""What placement has to know of this cell's compute nodes, and whether it does.

A node's row names what should be there (``provider_digest``) and what placement last confirmed
(``confirmed_digest``). As long as the two differ, for whatever reason, a periodic task tries again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

import os_traits
from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.db import Database
from armillary.log_once import OutageLog
from conductor.cell_db import compute_nodes, models, services
from conductor.moments import Now, moment
from placement.rpcapi import PlacementAPI

LOG = logging.getLogger(__name__)

BATCH_SIZE = 200
_OUTCOME_UNKNOWN = (exception.Unavailable, exception.RpcFailed)


def digest(
    inventories: dict[str, Any],
    traits: Sequence[str],
    *,
    disabled: bool,
    children: Sequence[dict[str, Any]] | None = None,
) -> str:
    """Name what placement should know of a provider, and of those below it."""
    facts = [inventories, sorted(traits), disabled, *([children] if children else ())]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def digest_of(row: models.ComputeNode, *, disabled: bool) -> str:
    """Name what placement should know of a node as it is stored."""
    return digest(row.inventories, row.traits, disabled=disabled, children=row.child_providers)


def told_by(
    node_uuid: str, traits: Sequence[str], children: Sequence[dict[str, Any]] | None
) -> dict[str, list[str]]:
    """Return what placement has from us once it was told this: provider -> custom traits."""
    told = {node_uuid: _custom(traits)}
    told |= {child["uuid"]: _custom(child["traits"]) for child in children or ()}
    return told


def told_in_all(
    before: Mapping[str, Sequence[str]], now: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Return what placement may have from us as long as nobody knows which of two it was told."""
    return {uuid: sorted({*before.get(uuid, ()), *now.get(uuid, ())}) for uuid in {*before, *now}}


@dataclasses.dataclass(frozen=True)
class StatusChange:
    """What placement should know of a node now, and whether it knew before what it should."""

    uuid: str
    digest: str
    was_confirmed: bool


def status_change(row: models.ComputeNode, *, disabled: bool) -> StatusChange:
    """Return the change for a node as it is stored before it."""
    return StatusChange(
        uuid=row.uuid,
        digest=digest_of(row, disabled=disabled),
        was_confirmed=row.confirmed_digest == row.provider_digest,
    )


class Providers:
    """The cell's compute nodes as placement's providers."""

    def __init__(
        self, conf: cfg.ConfigOpts, *, database: Database, placement: PlacementAPI, now: Now
    ) -> None:
        self._conf = conf
        self._database = database
        self._placement = placement
        self._now = now
        self._outage = OutageLog(LOG, "Placement")

    def is_confirmed(self, row: models.ComputeNode) -> bool:
        """Tell whether placement knows what it should, and said so not too long ago.

        Asking again now and then shows allocation ratios that an operator changed in placement.
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
        """Tell placement of nodes; return node -> sentence for those that it did not take.

        What is allocated of the nodes in ``reshape`` may move within them.
        """
        errors: dict[str, str] = {}
        for start in range(0, len(nodes), BATCH_SIZE):
            errors |= self._confirm_batch(
                context, nodes[start : start + BATCH_SIZE], disabled_hosts, reshape
            )
        return errors

    def confirm_pending(self) -> int:
        """Tell placement, again, what it has not confirmed yet; return how many nodes that were."""
        with self._database.reader() as session:
            rows = compute_nodes.list_unconfirmed(session, limit=BATCH_SIZE)
            found = services.find_by_hosts(session, {row.host for row in rows})
        if rows:
            disabled = {host for host, service in found.items() if service.disabled}
            errors = self.confirm(admin_context(), rows, disabled)
            for uuid, error in errors.items():
                LOG.debug("node %s is not in placement as it should: %s", uuid, error)
        return len(rows)

    def set_disabled(
        self, context: RequestContext, changes: Sequence[StatusChange], *, disabled: bool
    ) -> None:
        """Set or remove COMPUTE_STATUS_DISABLED; what fails is left to ``confirm_pending``."""
        try:
            for change in changes:
                self._placement.set_trait(
                    context, change.uuid, os_traits.COMPUTE_STATUS_DISABLED, present=disabled
                )
        except (exception.NotFound, *_OUTCOME_UNKNOWN) as error:
            LOG.warning("Placement does not know yet that hosts were (un)disabled: %s", error)
            return
        confirmed = [
            {"uuid": change.uuid, "confirmed_digest": change.digest}
            for change in changes
            if change.was_confirmed
        ]
        self._database.run_in_writer(lambda session: compute_nodes.update(session, confirmed))

    def delete(self, context: RequestContext, nodes: Sequence[models.ComputeNode]) -> None:
        """Remove providers with those below them. Raises InUse, and Unavailable when not known."""
        for row in nodes:
            if _told(row).keys() - {row.uuid}:
                self._delete_children(context, row)
            self._placement.delete_provider(context, row.uuid)

    def _delete_children(self, context: RequestContext, row: models.ComputeNode) -> None:
        report = {
            **_provider(row, disabled=True),
            "children": [],
            "former_children": sorted(_told(row).keys() - {row.uuid}),
        }
        (result,) = self._placement.set_providers(context, [report])
        if result["error"]:
            raise exception.InUse(what=f"The provider of node {row.node}", reason=result["error"])

    def _confirm_batch(
        self,
        context: RequestContext,
        nodes: Sequence[models.ComputeNode],
        disabled_hosts: Collection[str],
        reshape: Collection[str],
    ) -> dict[str, str]:
        facts = [_provider(row, disabled=row.host in disabled_hosts) for row in nodes]
        for report in facts:
            if report["uuid"] in reshape:
                report["reshape"] = True
        try:
            results = self._placement.set_providers(context, facts)
        except _OUTCOME_UNKNOWN as error:
            self._outage.failed(error)
            self._doubt(nodes)
            sentence = "placement does not answer; the inventory is stored and will be sent again"
            return {row.uuid: sentence for row in nodes}
        self._outage.succeeded()
        self._store_confirmed(nodes, disabled_hosts, results)
        return {result["uuid"]: result["error"] for result in results if result["error"]}

    def _doubt(self, nodes: Sequence[models.ComputeNode]) -> None:
        """Forget what was confirmed of nodes of which placement may know something else by now."""
        doubtful = [
            {"uuid": row.uuid, "confirmed_digest": None}
            for row in nodes
            if row.confirmed_digest not in (None, row.provider_digest)
        ]
        if doubtful:
            self._database.run_in_writer(lambda session: compute_nodes.update(session, doubtful))

    def _store_confirmed(
        self,
        nodes: Sequence[models.ComputeNode],
        disabled_hosts: Collection[str],
        results: Sequence[dict[str, Any]],
    ) -> None:
        confirmed = [
            {
                "uuid": row.uuid,
                "confirmed_digest": digest_of(row, disabled=row.host in disabled_hosts),
                "told": told_by(row.uuid, row.traits, row.child_providers),
                "confirmed_at": moment(self._now()),
                "allocation_ratios": _ratios(result["inventories"]),
            }
            for row, result in zip(nodes, results, strict=True)
            if not result["error"]
        ]
        self._database.run_in_writer(lambda session: compute_nodes.update(session, confirmed))


def _provider(row: models.ComputeNode, *, disabled: bool) -> dict[str, Any]:
    told = _told(row)
    status = {os_traits.COMPUTE_STATUS_DISABLED} if disabled else set()
    report: dict[str, Any] = {
        "uuid": row.uuid,
        "name": row.node,
        "inventories": row.inventories,
        "traits": sorted({*row.traits, *status}),
        "managed_custom_traits": _managed(row.uuid, row.traits, told),
    }
    children = row.child_providers or []
    former = sorted(told.keys() - {row.uuid, *(child["uuid"] for child in children)})
    if children or former:
        report["children"] = [
            {**child, "managed_custom_traits": _managed(child["uuid"], child["traits"], told)}
            for child in children
        ]
        report["former_children"] = former
    return report


def _told(row: models.ComputeNode) -> Mapping[str, Sequence[str]]:
    return row.told or {}


def _managed(uuid: str, traits: Sequence[str], told: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the custom traits that are ours: of now, and those that may be left of before."""
    return sorted({*_custom(traits), *told.get(uuid, ())})


def _custom(traits: Sequence[str]) -> list[str]:
    return sorted(trait for trait in traits if trait.startswith(os_traits.CUSTOM_NAMESPACE))


def _ratios(inventories: dict[str, Any]) -> dict[str, float]:
    return {
        resource_class: inventory["allocation_ratio"]
        for resource_class, inventory in inventories.items()
    }
