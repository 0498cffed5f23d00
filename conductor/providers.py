"""What placement has to know of this cell's compute nodes, and whether it does.

A node's row names what should be there (``provider_digest``) and what placement last confirmed
(``confirmed_digest``). As long as the two differ, for whatever reason, a periodic task tries again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
from collections.abc import Collection, Sequence
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


def digest(inventories: dict[str, Any], traits: Sequence[str], *, disabled: bool) -> str:
    """Name what placement should know of a provider."""
    facts = json.dumps([inventories, sorted(traits), disabled], sort_keys=True)
    return hashlib.sha256(facts.encode()).hexdigest()


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
        digest=digest(row.inventories, row.traits, disabled=disabled),
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
    ) -> dict[str, str]:
        """Tell placement of nodes; return node -> sentence for those that it did not take."""
        errors: dict[str, str] = {}
        for start in range(0, len(nodes), BATCH_SIZE):
            errors |= self._confirm_batch(
                context, nodes[start : start + BATCH_SIZE], disabled_hosts
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

    def delete(self, context: RequestContext, uuids: Sequence[str]) -> None:
        """Remove providers. Raises ResourceProviderInUse, and Unavailable when it is not known."""
        for uuid in uuids:
            self._placement.delete_provider(context, uuid)

    def _confirm_batch(
        self,
        context: RequestContext,
        nodes: Sequence[models.ComputeNode],
        disabled_hosts: Collection[str],
    ) -> dict[str, str]:
        facts = [_provider(row, disabled=row.host in disabled_hosts) for row in nodes]
        try:
            results = self._placement.set_providers(context, facts)
        except _OUTCOME_UNKNOWN as error:
            self._outage.failed(error)
            sentence = "placement does not answer; the inventory is stored and will be sent again"
            return {row.uuid: sentence for row in nodes}
        self._outage.succeeded()
        self._store_confirmed(nodes, disabled_hosts, results)
        return {result["uuid"]: result["error"] for result in results if result["error"]}

    def _store_confirmed(
        self,
        nodes: Sequence[models.ComputeNode],
        disabled_hosts: Collection[str],
        results: Sequence[dict[str, Any]],
    ) -> None:
        confirmed = [
            {
                "uuid": row.uuid,
                "confirmed_digest": digest(
                    row.inventories, row.traits, disabled=row.host in disabled_hosts
                ),
                "confirmed_at": moment(self._now()),
                "allocation_ratios": _ratios(result["inventories"]),
            }
            for row, result in zip(nodes, results, strict=True)
            if not result["error"]
        ]
        self._database.run_in_writer(lambda session: compute_nodes.update(session, confirmed))


def _provider(row: models.ComputeNode, *, disabled: bool) -> dict[str, Any]:
    custom = [trait for trait in row.traits if trait.startswith(os_traits.CUSTOM_NAMESPACE)]
    status = {os_traits.COMPUTE_STATUS_DISABLED} if disabled else set()
    return {
        "uuid": row.uuid,
        "name": row.node,
        "inventories": row.inventories,
        "traits": sorted({*row.traits, *status}),
        "managed_custom_traits": sorted(custom),
    }


def _ratios(inventories: dict[str, Any]) -> dict[str, float]:
    return {
        resource_class: inventory["allocation_ratio"]
        for resource_class, inventory in inventories.items()
    }
