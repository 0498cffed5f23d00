"""Queries on key pairs: create, get, list, delete."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import raise_if_duplicate
from objects.key_pair import KeyPair


def create_key_pair(
    session: Session, made: KeyPair, *, request_id: str, replace: bool, of_user_max: int,
    now: datetime,
) -> KeyPair:  # fmt: skip
    """Store a key pair; -1 sets no limit. Raises KeyPairExists, QuotaExceeded.

    The same request may store the same key again, and ``replace`` its key by another one.
    """
    exists = exception.KeyPairExists(name=made.name)
    present = session.get(models.KeyPair, (made.user_id, made.name))
    if present is not None:
        is_same = replace or present.public_key == made.public_key
        if present.request_id != request_id or present.kind != made.kind or not is_same:
            raise exists
        present.public_key, present.fingerprint = made.public_key, made.fingerprint
        return _to_object(present)
    used = len(list_key_pairs(session, made.user_id))
    if 0 <= of_user_max <= used:
        raise exception.QuotaExceeded(
            resource="key_pairs", requested=1, used=used, limit=of_user_max
        )
    row = models.KeyPair(
        user_id=made.user_id, name=made.name, public_key=made.public_key,
        fingerprint=made.fingerprint, created_at=now, kind=made.kind,
        request_id=request_id,
    )  # fmt: skip
    with raise_if_duplicate(session, exists):
        session.add(row)
    return _to_object(row)


def get_key_pair(session: Session, user_id: str, name: str) -> KeyPair:
    """Return a user's key pair. Raises KeyPairNotFound."""
    return _to_object(_get_row(session, user_id, name))


def list_key_pairs(session: Session, user_id: str) -> list[KeyPair]:
    """Return a user's key pairs ordered by name."""
    query = (
        sa.select(models.KeyPair)
        .where(models.KeyPair.user_id == user_id)
        .order_by(models.KeyPair.name)
    )
    return [_to_object(row) for row in session.scalars(query)]


def delete_key_pair(session: Session, user_id: str, name: str) -> None:
    """Delete a user's key pair. Raises KeyPairNotFound."""
    session.delete(_get_row(session, user_id, name))
    session.flush()


def _get_row(session: Session, user_id: str, name: str) -> models.KeyPair:
    row = session.get(models.KeyPair, (user_id, name))
    if row is None:
        raise exception.KeyPairNotFound(name=name)
    return row


def _to_object(row: models.KeyPair) -> KeyPair:
    return KeyPair(row.user_id, row.name, row.public_key, row.fingerprint, row.created_at, row.kind)
