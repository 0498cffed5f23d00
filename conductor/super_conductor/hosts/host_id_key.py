"""Key of hosts' opaque ids: a secret that all processes of a deployment share."""

import dataclasses
import secrets

from sqlalchemy.orm import Session

from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import insert_missing

_NAME = "host_id_key"
_BYTES = 32


@dataclasses.dataclass(frozen=True)
class _NewSecret:
    name: str
    value: str


class HostIdKey:
    """See ``SuperConductorAPI``. The key is made when it is first asked for."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get_host_id_key(self, context: RequestContext) -> str:
        return self._find() or self._database.run_in_writer(_make)

    def _find(self) -> str | None:
        with self._database.reader() as session:
            found = session.get(models.DeploymentSecret, _NAME)
            return None if found is None else found.value


def _make(session: Session) -> str:
    """Return the key; of two conductors that make it at the same time, both get the same one."""
    new = _NewSecret(_NAME, secrets.token_hex(_BYTES))
    insert_missing(session, models.DeploymentSecret, [new])
    return session.get_one(models.DeploymentSecret, _NAME).value
