"""Key of hosts' opaque ids: a secret that all processes of a deployment share."""

from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.db import deployment_secrets


class HostIdKey:
    """See ``SuperConductorAPI``. The key is made when it is first asked for.

    ``armillary-manage host rotate-id-key`` replaces it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def get_host_id_key(self, context: RequestContext) -> str:
        return deployment_secrets.find_or_make(self._database, deployment_secrets.HOST_ID_KEY)
