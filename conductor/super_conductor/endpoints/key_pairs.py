"""Key pairs: create, show, delete."""

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary.context import RequestContext
from armillary.db import Database
from conductor.common.clock import Clock, moment
from conductor.super_conductor.accept import quotas
from conductor.super_conductor.db.catalogue import key_pairs
from conductor.super_conductor.db.catalogue import quotas as quotas_db
from objects.key_pair import KeyPair


class KeyPairsEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database, now: Clock) -> None:
        self._conf = conf
        self._database = database
        self._now = now

    def create_key_pair(self, context: RequestContext, key_pair: KeyPair) -> KeyPair:
        now = moment(self._now())

        def create(session: Session) -> KeyPair:
            quotas_db.lock_project(session, context.project_id or "")
            limits = quotas.limits_of(session, self._conf, context.project_id or "")
            return key_pairs.create_key_pair(
                session, key_pair, of_user_max=limits["key_pairs"], now=now
            )

        return self._database.run_in_writer(create)

    def get_key_pair(self, context: RequestContext, user_id: str, name: str) -> KeyPair:
        with self._database.reader() as session:
            return key_pairs.get_key_pair(session, user_id, name)

    def list_key_pairs(self, context: RequestContext, user_id: str) -> list[KeyPair]:
        with self._database.reader() as session:
            return key_pairs.list_key_pairs(session, user_id)

    def delete_key_pair(self, context: RequestContext, user_id: str, name: str) -> None:
        self._database.run_in_writer(
            lambda session: key_pairs.delete_key_pair(session, user_id, name)
        )
