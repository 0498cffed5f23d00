"""Writes of providers: reports of their owners, single traits, and deletion."""

from __future__ import annotations

import datetime as dt
import functools
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from oslo_utils import timeutils
from sqlalchemy.orm import Session

from armillary import exception
from armillary.db import Database
from armillary.names.identifiers import is_uuid
from objects.hosts.provider_report import ProviderResult
from placement.db import allocations, consumers, epochs, provider_tree
from placement.db import providers as queries
from placement.ledger.allocation_transaction import AllocationTransaction
from placement.ownership import CellWriter
from placement.providers import names, tree_reshape
from placement.providers.provider_report import ORDER_MAX
from placement.providers.report_plan import plan_of
from placement.providers.tree_reports import TreeChange, named_in, size_of

LOG = logging.getLogger(__name__)

TRANSACTION_SIZE_MAX = 1000  # providers; claims wait while they are written
RESHAPE = "reshape"
"""Field of a report that allows allocations to move within the reshaped tree."""


class ProviderWriter:
    """Write providers. All operations are idempotent; a write without changes is skipped."""

    def __init__(
        self, database: Database, clock: Callable[[], dt.datetime] = timeutils.utcnow
    ) -> None:
        self._database = database
        self._clock = clock

    def set_providers(
        self, reports: Sequence[Mapping[str, Any]], writer: CellWriter | None = None
    ) -> list[ProviderResult]:
        """Create or update providers, each independently; see ``PlacementAPI.set_providers``.

        A ``writer`` owns what it creates; providers of other cells are refused.
        """
        for report in reports:
            if not isinstance(report, Mapping):
                raise exception.Invalid(reason=f"a provider must be an object, not {report!r}")
        plain = [
            {name: value for name, value in report.items() if name != RESHAPE} for report in reports
        ]
        results: list[ProviderResult] = []
        for part in _parts(plain):
            write = functools.partial(_write, reports=part, clock=self._clock, writer=writer)
            results += self._database.run_in_writer(write)
        for place, report in enumerate(reports):
            if results[place].error and report.get(RESHAPE) is True:
                results[place] = self._reshape(plain[place], results[place], writer)
        return results

    def _reshape(
        self, report: Mapping[str, Any], refused: ProviderResult, writer: CellWriter | None
    ) -> ProviderResult:
        """Retry a refused report after moving the allocations of its tree, in one transaction."""
        write = functools.partial(_reshape, report=report, clock=self._clock, writer=writer)
        try:
            return self._database.run_in_writer(write) or refused
        except exception.Unavailable:
            raise
        except exception.ArmillaryError as error:
            return replace(refused, error=str(error))

    def set_trait(
        self,
        provider: str,
        trait: str,
        *,
        present: bool,
        order: int | None = None,
        writer: CellWriter | None = None,
    ) -> bool:
        """Add or remove a trait, unless a report of a higher order was faster; return whether.

        Raises ``ResourceProviderNotFound``, ``TraitNotFound``; ``NotItsOwn`` if the provider is not
        the writer's, or the trait is one that operators set.
        """
        if not names.is_trait(trait):
            raise exception.TraitNotFound(traits=trait)

        def write(session: Session) -> bool:
            epoch = epochs.lock(session)
            old = queries.get_cluster_metadata(session, [provider]).get(provider)
            if old is None:
                raise exception.ResourceProviderNotFound(provider=provider)
            if writer is not None:
                writer.check_provider(provider, old.cell_uuid)
                writer.check_traits(provider, [trait])
            number = old.order if order is None else min(order, ORDER_MAX)
            if number < old.order:
                return False
            traits = old.traits | {trait} if present else old.traits - {trait}
            new = replace(old, traits=traits, order=number)
            queries.store(session, [(old, new)], epoch, self._clock())
            return True

        return self._database.run_in_writer(write)

    def adopt(
        self, cell_uuid: str, providers: Sequence[str], *, is_replacing: bool = False
    ) -> list[str]:
        """Give providers and those below them to a cell; return those it did not have before.

        Those of other cells are left alone unless ``is_replacing``. Raises ``Invalid`` for a cell
        or too many providers.
        """
        if not is_uuid(cell_uuid):
            raise exception.Invalid(reason="a cell must be named by its UUID, in lower case")
        if len(providers) > TRANSACTION_SIZE_MAX:
            raise exception.Invalid(
                reason=f"{len(providers)} providers were given; at most {TRANSACTION_SIZE_MAX} "
                "are allowed"
            )

        def write(session: Session) -> list[str]:
            epochs.lock(session)
            present = provider_tree.owners_below(session, providers)
            changed = [
                uuid
                for uuid, owner in present.items()
                if owner != cell_uuid and (owner is None or is_replacing)
            ]
            queries.set_owner(session, changed, cell_uuid)
            return sorted(changed)

        return self._database.run_in_writer(write)

    def delete(
        self, provider: str, writer: CellWriter | None = None, *, order: int | None = None
    ) -> int | None:
        """Delete a provider, unless a report of a higher order was faster; return the latter's.

        No error if it does not exist. Raises ``ResourceProviderInUse`` if it has allocations,
        ``ResourceProviderHasChildren``; ``NotItsOwn`` if it is not the writer's.
        """
        number = min(order or 0, ORDER_MAX)

        def write(session: Session) -> int | None:
            epoch = epochs.lock(session)
            old = queries.get_cluster_metadata(session, [provider]).get(provider)
            if old is None or old.id is None:
                queries.raise_deleted_order(session, provider, number)
                return None
            if writer is not None:
                writer.check_provider(provider, old.cell_uuid)
            if order is not None and number < old.order:
                return old.order
            remove_unused(session, provider, old.id, epoch, self._clock(), order=number)
            return None

        return self._database.run_in_writer(write)


def remove_unused(
    session: Session,
    provider: str,
    provider_id: int,
    epoch: int,
    now: dt.datetime,
    *,
    order: int = 0,
) -> None:
    """Delete a provider. Raises ``ResourceProviderInUse``, ``ResourceProviderHasChildren``."""
    if queries.has_children(session, provider_id):
        raise exception.ResourceProviderHasChildren(provider=provider)
    if queries.has_allocations(session, provider_id):
        raise exception.ResourceProviderInUse(provider=provider)
    queries.remove(session, provider_id, epoch, now, order=order)


def _parts(reports: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Split reports into one part per transaction; a tree is never split."""
    part: list[Mapping[str, Any]] = []
    size = 0
    for report in reports:
        if part and size + size_of(report) > TRANSACTION_SIZE_MAX:
            yield part
            part, size = [], 0
        part.append(report)
        size += size_of(report)
    if part:
        yield part


def _reshape(
    session: Session,
    report: Mapping[str, Any],
    clock: Callable[[], dt.datetime],
    writer: CellWriter | None,
) -> ProviderResult | None:
    """Write a tree in both shapes, move its allocations, then write it in its new shape.

    All in one transaction, so that intermediate states are invisible. Returns None, without
    writing, if nothing has to move. Raises the error that prevents it.
    """
    epoch = epochs.lock(session)
    named = set(named_in(report))
    before = provider_tree.get_stored(
        session, queries.get_cluster_metadata(session, named), families=named
    )
    lost = tree_reshape.removed_classes(report, before)
    if not lost:
        return None
    wide = tree_reshape.merged_report(report, lost, before.facts)
    _, wide_change = _planned(session, wide, writer)
    provider_tree.store_reports(session, [wide_change], epoch, clock())
    holders = {
        row.uuid
        for row in consumers.get_allocations_of_many(session, {uuid for uuid, _ in lost})
        if (row.provider_uuid, row.resource_class) in lost
    }
    members = [facts.uuid for _, facts in wide_change.members]
    epoch, ledger = allocations.open_ledger(session, consumers=holders, providers=members)
    AllocationTransaction(ledger, tree_reshape.moves(ledger, lost, wide_change)).settle()
    allocations.store(session, ledger, epoch, clock())
    result, change = _planned(session, report, writer)
    provider_tree.store_reports(session, [change], epochs.lock(session), clock())
    LOG.info(
        "Resource provider %s was reshaped; the allocations of %d consumers moved with it",
        report["uuid"], len(holders),
    )  # fmt: skip
    return result


def _planned(
    session: Session, report: Mapping[str, Any], writer: CellWriter | None
) -> tuple[ProviderResult, TreeChange]:
    """Return the result of one report, and its changes. Raises Conflict if it is refused."""
    plan = plan_of(session, [report], writer)
    result = plan.add(report)
    if result.error:
        raise exception.Conflict(reason=result.error)
    return result, plan.changes[0]


def _write(
    session: Session,
    reports: Sequence[Mapping[str, Any]],
    clock: Callable[[], dt.datetime],
    writer: CellWriter | None,
) -> list[ProviderResult]:
    epoch = epochs.lock(session)
    plan = plan_of(session, reports, writer)
    results = [plan.add(report) for report in reports]
    provider_tree.store_reports(session, plan.changes, epoch, clock())
    if writer is not None:
        queries.set_owner(session, plan.adopted, writer.cell_uuid)
    return results
