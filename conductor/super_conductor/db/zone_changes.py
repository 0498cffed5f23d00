"""Announced changes of availability zones: until they end, no selection of their hosts is stored.

They are in the row of the metadata's number, which changes lock and selections share.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.super_conductor.db.models import MetadataSeq

_ANNOUNCED = sa.select(MetadataSeq.zone_changes)
_HOSTS, _BEGUN_AT = "hosts", "begun_at"


def announce(session: Session, change_id: str, hosts: Collection[str], *, now: float) -> None:
    """Announce that the zones of hosts may change."""
    _store(session, {**_locked(session), change_id: {_HOSTS: sorted(hosts), _BEGUN_AT: now}})


def end(session: Session, change_id: str) -> bool:
    """Withdraw a change, or end it in the transaction that makes it; return whether it was there.

    One that was not had taken so long that selections did not wait for it.
    """
    announced = _locked(session)
    is_there = announced.pop(change_id, None) is not None
    if is_there:
        _store(session, announced)
    return is_there


def end_old(session: Session, before: float) -> int:
    """Withdraw changes announced before a time; return their number."""
    announced = _locked(session)
    kept = {key: one for key, one in announced.items() if one[_BEGUN_AT] >= before}
    if kept != announced:
        _store(session, kept)
    return len(announced) - len(kept)


def share(session: Session) -> set[str]:
    """Return the hosts of announced changes; no change begins or ends before the transaction."""
    announced = session.scalars(_ANNOUNCED.with_for_update(read=True)).one() or {}
    return {host for one in announced.values() for host in one[_HOSTS]}


def _locked(session: Session) -> dict[str, Any]:
    return dict(session.scalars(_ANNOUNCED.with_for_update()).one() or {})


def _store(session: Session, announced: dict[str, Any]) -> None:
    session.execute(sa.update(MetadataSeq).values(zone_changes=announced or None))
