"""Writes of providers: reports of their owners, single traits, and deletion."""

from __future__ import annotations

import datetime as dt
import functools
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
from placement.providers.provider_report import (
    ORDER_MAX,
    CurrentProvider,
    is_late,
    is_provider_name,
)
from placement.providers.tree_reports import (
    FAMILY_FIELDS,
    Stored,
    TreeChange,
    change_of,
    children_in,
    named_in,
    names_in,
    size_of,
    with_free_names,
)

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
    plan = _plan(session, [report], writer)
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
    plan = _plan(session, reports, writer)
    results = [plan.add(report) for report in reports]
    provider_tree.store_reports(session, plan.changes, epoch, clock())
    if writer is not None:
        queries.set_owner(session, plan.adopted, writer.cell_uuid)
    return results


def _plan(
    session: Session, reports: Sequence[Mapping[str, Any]], writer: CellWriter | None
) -> _Plan:
    uuids = {uuid for report in reports for uuid in named_in(report)}
    wanted = {
        str(name) for report in reports for name in names_in(report) if is_provider_name(name)
    }
    stored = provider_tree.get_stored(
        session,
        queries.get_cluster_metadata(session, uuids),
        families={
            uuid
            for report in reports
            if any(report.get(name) for name in FAMILY_FIELDS)
            for uuid in named_in(report)
        },
    )
    heads = {str(report["uuid"]) for report in reports if is_uuid(report.get("uuid"))}
    parts = (
        provider_tree.parts_of_cell(session, heads, writer.cell_uuid)
        if writer is not None
        else set[str]()
    )
    by_name = queries.get_uuids_by_name(session, wanted)
    foreign: set[str] = set()
    if writer is not None:  # a cell must not keep another's hosts out by their names
        owners = queries.owners(session, by_name.values())
        foreign = {
            name
            for name, uuid in by_name.items()
            if owners[uuid] is not None and not writer.owns(owners[uuid])
        }
    deleted = queries.get_deleted_orders(session, heads - stored.facts.keys())
    return _Plan(stored, by_name, writer, parts, foreign, deleted)


class _Plan:
    """Changes of a batch of reports, each independent, planned one after the other."""

    def __init__(
        self,
        stored: Stored,
        uuids_by_name: Mapping[str, str],
        writer: CellWriter | None,
        parts: Collection[str],
        foreign_names: Collection[str],
        deleted_orders: Mapping[str, int],
    ) -> None:
        self.changes: list[TreeChange] = []
        self.adopted: list[str] = []
        """Providers without an owner that become the writer's."""
        self._writer = writer
        self._parts = parts  # below providers of the writer's cell: reported with those alone
        self._foreign_names = foreign_names  # those of other cells' providers
        self._stored = stored
        self._deleted_orders = deleted_orders
        self._uuids_by_name = dict(uuids_by_name)
        self._seen: set[str] = set()

    def add(self, report: Mapping[str, Any]) -> ProviderResult:
        """Return the result for one report."""
        uuid = report.get("uuid")
        old = self._stored.facts.get(uuid) if isinstance(uuid, str) else None
        try:
            self._check_owners(uuid, children_in(report))  # other errors tell what is stored
            last_order = old.order if old else self._deleted_orders.get(str(uuid))
            if last_order is not None and is_late(report, last_order):
                return replace(_result(uuid, old, None), later_order=last_order)
            if self._foreign_names:
                report = with_free_names(report, self._foreign_names)
            change = change_of(report, self._stored)
            self._check_owners(None, change.gone)
            self._check_traits(change)
            self._check_unique(change)
        except exception.NotItsOwn as error:
            return _result(uuid, None, str(error), is_not_its_own=True)
        except exception.ArmillaryError as error:
            return _result(uuid, old, str(error))
        for _, facts in change.members:
            self._seen.add(facts.uuid)
            self._uuids_by_name[facts.name] = facts.uuid
        self._seen.update(change.gone)
        members = [
            (before, self._owned(_with_next_generation(before, after)))
            for before, after in change.members
        ]
        self.changes.append(replace(change, members=members))
        return _result(uuid, members[0][1], None)

    def _check_owners(self, head: object, below: Iterable[str]) -> None:
        """Raise NotItsOwn if a stored provider, or one of these below it, is not the writer's.

        What has no owner below a provider that is the writer's was made in the Placement API.
        """
        if self._writer is None:
            return
        facts = self._stored.facts.get(head) if isinstance(head, str) else None
        if facts is not None and facts.uuid in self._parts:
            raise exception.NotItsOwn(
                reason=f"resource provider {facts.uuid} is a part of another one of the cell"
            )
        if facts is not None:
            self._writer.check_provider(facts.uuid, facts.cell_uuid)
        for uuid in below:
            facts = self._stored.facts.get(uuid)
            if facts is not None and facts.cell_uuid is not None:
                self._writer.check_provider(uuid, facts.cell_uuid)

    def _check_traits(self, change: TreeChange) -> None:
        """Raise NotItsOwn if the writer changes traits that operators alone set."""
        if self._writer is None:
            return
        for before, after in change.members:
            present = frozenset[str]() if before is None else before.traits
            self._writer.check_traits(after.uuid, present ^ after.traits)

    def _owned(self, facts: CurrentProvider) -> CurrentProvider:
        if self._writer is None or facts.cell_uuid is not None:
            return facts
        if facts.id is not None:
            self.adopted.append(facts.uuid)
        return replace(facts, cell_uuid=self._writer.cell_uuid)

    def _check_unique(self, change: TreeChange) -> None:
        own = {facts.name: facts.uuid for _, facts in change.members}
        for _, facts in change.members:
            if facts.uuid in self._seen:
                raise exception.Invalid(
                    reason=f"resource provider {facts.uuid} occurs twice in one call"
                )
            for owner in (self._uuids_by_name.get(facts.name, facts.uuid), own[facts.name]):
                if owner != facts.uuid:
                    raise exception.Invalid(
                        reason=f"resource provider {facts.uuid}: the name {facts.name} is used by "
                        + (f"resource provider {owner}" if self._writer is None else "another one")
                    )


def _with_next_generation(
    before: CurrentProvider | None, after: CurrentProvider
) -> CurrentProvider:
    """Return the state to store: if anything changed, its generation is incremented."""
    return after if after == before else replace(after, generation=after.generation + 1)


def _result(
    uuid: object, facts: CurrentProvider | None, error: str | None, *, is_not_its_own: bool = False
) -> ProviderResult:
    inventories = facts.inventories if facts else {}
    return ProviderResult(
        uuid=uuid if isinstance(uuid, str) else "",
        generation=facts.generation if facts else None,
        inventories={name: item.to_plain() for name, item in inventories.items()},
        error=error,
        is_not_its_own=is_not_its_own,
    )
