"""Secrets that all processes of a deployment share, made when one is first asked for."""

import dataclasses
import secrets

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary.db import Database
from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import insert_missing

HOST_ID_KEY = "host_id_key"
IMAGE_TICKET_KEY = "image_ticket_key"
SERVER_TICKET_KEY = "server_ticket_key"
"""Signs tickets that are valid for as long as a server exists."""

_BYTES = 32
_FORMER = ".former"
"""Ending of the name of the row with the value before the last rotation, and how long it counts."""


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
    return database.run_in_writer(_make, name)


def find_or_copy(database: Database, name: str, *, other: str) -> str:
    """Return a secret; if it is missing, it is created with the value of another."""
    value = find_or_make(database, other)

    def copy(session: Session) -> str:
        insert_missing(session, models.DeploymentSecret, [_NewSecret(name, value)])
        return session.get_one(models.DeploymentSecret, name).value

    with database.reader() as session:
        found = session.get(models.DeploymentSecret, name)
    return database.run_in_writer(copy) if found is None else found.value


def accepted(database: Database, name: str, *, now: float) -> list[str]:
    """Return a secret, created if it is missing, then the one before while that still counts.

    They are read each time, so that a rotation takes effect in every process immediately.
    """
    is_wanted = models.DeploymentSecret.name.in_([name, name + _FORMER])
    with database.reader() as session:
        rows = session.scalars(sa.select(models.DeploymentSecret).where(is_wanted))
        found = {row.name: row.value for row in rows}
    if name not in found:
        return [find_or_make(database, name)]
    until, _, former = found.get(name + _FORMER, "0 ").partition(" ")
    return [found[name], former] if now < int(until) else [found[name]]


def replace(database: Database, name: str) -> None:
    """Replace a secret; the one before is forgotten."""
    new = secrets.token_hex(_BYTES)

    def write(session: Session) -> None:
        _make(session, name)
        session.get_one(models.DeploymentSecret, name).value = new

    database.run_in_writer(write)


def rotate(database: Database, name: str, *, former_until: float) -> None:
    """Replace a secret; the one that it had counts until a time (seconds since 1970)."""
    new = secrets.token_hex(_BYTES)
    database.run_in_writer(_rotate, name, new, int(former_until))


def _make(session: Session, name: str) -> str:
    new = _NewSecret(name, secrets.token_hex(_BYTES))
    insert_missing(session, models.DeploymentSecret, [new])
    return session.get_one(models.DeploymentSecret, name).value


def _rotate(session: Session, name: str, new: str, former_until: int) -> None:
    current = _make(session, name)
    if current == new:
        return  # a retry; the first attempt was committed
    former = _NewSecret(name + _FORMER, f"{former_until} {current}")
    insert_missing(session, models.DeploymentSecret, [former])
    for row in (former, _NewSecret(name, new)):
        session.get_one(models.DeploymentSecret, row.name).value = row.value
