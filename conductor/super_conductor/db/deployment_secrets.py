"""Secrets that all processes of a deployment share, made when one is first asked for."""

import dataclasses
import secrets

from sqlalchemy.orm import Session

from armillary.db import Database
from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import insert_missing

_BYTES = 32


@dataclasses.dataclass(frozen=True)
class _NewSecret:
    name: str
    value: str


def find_or_make(database: Database, name: str) -> str:
    """Return a secret, created if it is missing; concurrent callers get the same one."""
    with database.reader() as session:
        found = session.get(models.DeploymentSecret, name)
        if found is not None:
            return found.value
    return database.run_in_writer(lambda session: _make(session, name))


def _make(session: Session, name: str) -> str:
    new = _NewSecret(name, secrets.token_hex(_BYTES))
    insert_missing(session, models.DeploymentSecret, [new])
    return session.get_one(models.DeploymentSecret, name).value
