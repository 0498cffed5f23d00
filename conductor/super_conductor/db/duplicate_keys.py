"""Translate a duplicate-key error into the ``Exists`` error of the object being created."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from oslo_db.exception import DBDuplicateEntry
from sqlalchemy.orm import Session

from armillary import exception


@contextlib.contextmanager
def raise_if_duplicate(session: Session, error: exception.Exists) -> Iterator[None]:
    """Flush at the end of the block; raise ``error`` if another transaction was first."""
    try:
        yield
        session.flush()
    except DBDuplicateEntry as duplicate:
        raise error from duplicate
