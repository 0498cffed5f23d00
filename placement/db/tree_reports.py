"""Queries on whole trees as reported by their owners. All require the epoch's lock."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session, aliased

from placement.db import epochs, providers
from placement.db.models import ResourceProvider
from placement.db.statements import any_of, rows_in
from placement.providers.provider_report import Facts
from placement.providers.tree_reports import Stored, TreeChange, TreePosition

_PROVIDER = ResourceProvider.table()
_PARENT = aliased(ResourceProvider)
_ROOT = aliased(ResourceProvider)
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
_HANG = (
    update(_PROVIDER)
    .where(_PROVIDER.c.id == bindparam("provider"))
    .values(
        parent_provider_id=bindparam("new_parent"),
        root_provider_id=bindparam("new_root"),
    )
)


def get_stored(
    session: Session, facts: Mapping[str, Facts], *, families: Collection[str]
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


def store(session: Session, changes: Sequence[TreeChange], epoch: int, now: dt.datetime) -> None:
    """Write the differences: first providers, then parents, last deletions."""
    members = [member for change in changes for member in change.members]
    providers.store(session, members, epoch, now)
    hung = {child: change.root for change in changes for child in change.parents}
    if hung:
        _set_parents(session, changes, hung, epoch, now)
    gone = [uuid for change in changes for uuid in change.gone]
    ids = providers.get_ids(session, gone)
    for uuid in gone:
        providers.remove(session, ids[uuid], epoch, now)


def _set_parents(
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
