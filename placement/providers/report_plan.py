"""Plan of reported providers: which changes they are, and which reports are refused, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy.orm import Session

from armillary import exception
from armillary.names.identifiers import is_uuid
from objects.hosts.provider_report import ProviderResult
from placement.db import provider_tree
from placement.db import providers as queries
from placement.ownership import CellWriter
from placement.providers.provider_report import CurrentProvider, is_late, is_provider_name
from placement.providers.tree_reports import (
    FAMILY_FIELDS,
    Stored,
    TreeChange,
    change_of,
    children_in,
    named_in,
    names_in,
    with_free_names,
)


def plan_of(
    session: Session, reports: Sequence[Mapping[str, Any]], writer: CellWriter | None
) -> ReportPlan:
    """Return the plan for reports that are written together; it reads what they name."""
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
    return ReportPlan(stored, by_name, writer, parts, foreign, deleted)


class ReportPlan:
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
