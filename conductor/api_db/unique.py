"""Turn the database's "this key is taken" into the error of the thing that was to be made."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from oslo_db.exception import DBDuplicateEntry
from sqlalchemy.orm import Session

from armillary import exception


@contextlib.contextmanager
def unique_or(session: Session, error: exception.Exists) -> Iterator[None]:
    """Flush what the block added; raise ``error`` when somebody made the same at this moment."""
    try:
        yield
        session.flush()
    except DBDuplicateEntry as duplicate:
        raise error from duplicate
