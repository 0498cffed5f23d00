"""Queries on provider trees: records, creation, and changes of parents.

All writes require the epoch's lock.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from sqlalchemy import bindparam, func, select, update
from sqlalchemy.orm import Session, aliased

from placement.db import epochs, providers
from placement.db.models import ResourceProvider
from placement.db.statements import AnyRow, any_of, execute_in, in_lists, insert_rows, rows_in
from placement.providers.provider_record import ProviderFilters, ProviderRecord
from placement.providers.provider_report import CurrentProvider
from placement.providers.tree_reports import Stored, TreeChange, TreePosition

_PROVIDER = ResourceProvider.table()
_PARENT = aliased(ResourceProvider)
_ROOT = aliased(ResourceProvider)
_RECORDS = (
    select(
        ResourceProvider.id,
        ResourceProvider.uuid,
        ResourceProvider.name,
        ResourceProvider.generation,
        _PARENT.uuid.label("parent_uuid"),
        _ROOT.uuid.label("root_uuid"),
        ResourceProvider.root_provider_id,
        ResourceProvider.updated_at,
    )
    .outerjoin(_PARENT, _PARENT.id == ResourceProvider.parent_provider_id)
    .outerjoin(_ROOT, _ROOT.id == ResourceProvider.root_provider_id)
)
_RECORDS_BY_UUID = _RECORDS.where(ResourceProvider.uuid.in_(any_of()))
_RECORDS_BY_ID = _RECORDS.where(ResourceProvider.id.in_(any_of()))
_UUID_OF_NAME = select(ResourceProvider.uuid).where(ResourceProvider.name == bindparam("name"))
_ROOT_OF = func.coalesce(ResourceProvider.root_provider_id, ResourceProvider.id)
_TREE = select(ResourceProvider.id, ResourceProvider.parent_provider_id).where(
    ResourceProvider.root_provider_id
    == select(_ROOT_OF).where(ResourceProvider.id == bindparam("provider")).scalar_subquery()
)
_RENAME = (
    update(_PROVIDER)
    .where(_PROVIDER.c.id == bindparam("provider"))
    .values(name=bindparam("new_name"))
)
_SET_PARENT = (
    update(_PROVIDER)
    .where(_PROVIDER.c.id == bindparam("provider"))
    .values(parent_provider_id=bindparam("new_parent"))
)
_SET_ROOT = (
    update(_PROVIDER)
    .where(_PROVIDER.c.id.in_(any_of()))
    .values(root_provider_id=bindparam("new_root"))
)


def find_record(session: Session, uuid: str) -> ProviderRecord | None:
    """Return a provider, or None."""
    return next(_records(rows_in(session, _RECORDS_BY_UUID, [uuid])), None)


def find_uuid(session: Session, name: str) -> str | None:
    """Return the UUID of the provider with a name, or None."""
    return session.execute(_UUID_OF_NAME, {"name": name}).scalar()


def list_records(session: Session, filters: ProviderFilters) -> list[ProviderRecord]:
    """Return the providers by name, UUID or tree, oldest first; other filters are ignored."""
    query = _RECORDS
    if filters.name is not None:
        query = query.where(ResourceProvider.name == filters.name)
    if filters.uuid is not None:
        query = query.where(ResourceProvider.uuid == filters.uuid)
    if filters.in_tree is not None:
        member = aliased(ResourceProvider)
        root = select(member.root_provider_id).where(member.uuid == filters.in_tree)
        query = query.where(ResourceProvider.root_provider_id == root.scalar_subquery())
    return list(_records(session.execute(query.order_by(ResourceProvider.id))))


def list_records_by_id(session: Session, ids: Collection[int]) -> list[ProviderRecord]:
    """Return the existing ones of these providers, oldest first."""
    found = _records(rows_in(session, _RECORDS_BY_ID, ids))
    return sorted(found, key=lambda record: record.id)


def insert(
    session: Session,
    *,
    uuid: str,
    name: str,
    parent: ProviderRecord | None,
    epoch: int,
    now: dt.datetime,
) -> None:
    """Create a provider with generation 0; it belongs to the cell of its parent."""
    owner = None if parent is None else providers.owners(session, [parent.uuid])[parent.uuid]
    row = {
        "uuid": uuid, "name": name, "generation": 0, "epoch": epoch, "updated_at": now,
        "cell_uuid": owner,
    }  # fmt: skip
    insert_rows(session, _PROVIDER, [row])
    number = providers.get_ids(session, [uuid])[uuid]
    set_parent(session, number, [number], parent)
    epochs.publish_facts(session, epoch)


def rename(session: Session, provider_id: int, name: str) -> None:
    """Rename a provider."""
    session.execute(_RENAME, {"provider": provider_id, "new_name": name})


def get_subtree(session: Session, provider_id: int) -> list[int]:
    """Return the ids of a provider and its descendants."""
    children: dict[int | None, list[int]] = defaultdict(list)
    for number, parent in session.execute(_TREE, {"provider": provider_id}):
        children[parent].append(number)
    found = [provider_id]
    for number in found:  # grows during the loop
        found += children[number]
    return found


def parts_of_cell(session: Session, uuids: Collection[str], cell_uuid: str) -> set[str]:
    """Return those of these providers that are below a provider of this cell."""
    owned = _PARTS.where(_PARENT.cell_uuid == bindparam("owner"))
    found: set[str] = set()
    for part in in_lists(uuids):
        found.update(session.scalars(owned, {"any_of": part, "owner": cell_uuid}))
    return found


def owners_below(session: Session, uuids: Collection[str]) -> dict[str, str | None]:
    """Return UUID -> cell of the existing ones of these providers, and of all below them."""
    found: dict[str, str | None] = {}
    level = providers.owners(session, uuids)
    while level:
        found |= level
        children = {child for _, child in rows_in(session, _CHILDREN, level)}
        level = providers.owners(session, children - found.keys())
    return found


def set_parent(
    session: Session, provider_id: int, subtree: Collection[int], parent: ProviderRecord | None
) -> None:
    """Move a provider with its descendants (``subtree``) below another; None makes it a root."""
    above = parent.id if parent else None
    session.execute(_SET_PARENT, {"provider": provider_id, "new_parent": above})
    root = parent.root_id if parent else provider_id
    execute_in(session, _SET_ROOT, subtree, new_root=root)


def _records(rows: Iterable[AnyRow]) -> Iterator[ProviderRecord]:
    for number, uuid, name, generation, parent, root, root_id, updated_at in rows:
        yield ProviderRecord(
            id=number,
            uuid=uuid,
            name=name,
            generation=generation,
            parent_provider_uuid=parent,
            root_provider_uuid=root or uuid,
            root_id=root_id or number,
            updated_at=updated_at,
        )


# Whole trees as reported by their owners --------------------------------------------------------

_PLACES = (
    select(ResourceProvider.uuid, _PARENT.uuid, _ROOT.uuid)
    .outerjoin(_PARENT, _PARENT.id == ResourceProvider.parent_provider_id)
    .outerjoin(_ROOT, _ROOT.id == ResourceProvider.root_provider_id)
    .where(ResourceProvider.uuid.in_(any_of()))
)
_CHILDREN = (
    select(_PARENT.uuid, ResourceProvider.uuid)
    .join(_PARENT, _PARENT.id == ResourceProvider.parent_provider_id)
    .where(_PARENT.uuid.in_(any_of()))
)
_PARTS = (
    select(ResourceProvider.uuid)
    .join(_PARENT, _PARENT.id == ResourceProvider.parent_provider_id)
    .where(ResourceProvider.uuid.in_(any_of()))
)
_HANG = (
    update(_PROVIDER)
    .where(_PROVIDER.c.id == bindparam("provider"))
    .values(parent_provider_id=bindparam("new_parent"), root_provider_id=bindparam("new_root"))
)


def get_stored(
    session: Session, facts: Mapping[str, CurrentProvider], *, families: Collection[str]
) -> Stored:
    """Return the stored state of providers, the positions of family members, and their children."""
    if not families:
        return Stored(facts)
    places = {
        uuid: TreePosition(parent, root or uuid)
        for uuid, parent, root in rows_in(session, _PLACES, families)
    }
    children: dict[str, list[str]] = defaultdict(list)
    for parent, child in rows_in(session, _CHILDREN, families):
        children[parent].append(child)
    return Stored(facts, places, children)


def store_reports(
    session: Session, changes: Sequence[TreeChange], epoch: int, now: dt.datetime
) -> None:
    """Write the differences: first providers, then parents, last deletions."""
    members = [member for change in changes for member in change.members]
    providers.store(session, members, epoch, now)
    hung = {child: change.root for change in changes for child in change.parents}
    if hung:
        _hang(session, changes, hung, epoch, now)
    gone = [uuid for change in changes for uuid in change.gone]
    ids = providers.get_ids(session, gone)
    for uuid in gone:
        providers.remove(session, ids[uuid], epoch, now)


def _hang(
    session: Session,
    changes: Sequence[TreeChange],
    roots: Mapping[str, str],
    epoch: int,
    now: dt.datetime,
) -> None:
    """Set the parents of children; descendants of a moved provider keep its former root."""
    parents = {child: parent for change in changes for child, parent in change.parents.items()}
    ids = providers.get_ids(session, {*parents, *parents.values(), *roots.values()})
    session.execute(
        _HANG,
        [
            {"provider": ids[child], "new_parent": ids[parent], "new_root": ids[roots[child]]}
            for child, parent in parents.items()
        ],
    )
    providers.touch_quietly(session, [ids[child] for child in parents], epoch, now)
    epochs.publish_facts(session, epoch)
