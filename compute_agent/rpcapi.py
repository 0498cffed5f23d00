"""Client of compute agents over RPC."""

from __future__ import annotations

from armillary.context import RequestContext
from objects.instance import Instance
from objects.request_spec import RequestSpec
from rpc.client import RpcClient


class ComputeAPI(RpcClient):
    """An agent, on its cell's broker, by its name (``Service.agent``).

    All are casts: reports come back.
    Version history: 1.0 initial.
    """

    TOPIC = "compute"
    VERSION = "1.0"

    def build_instance(
        self, context: RequestContext, agent: str, instance: Instance, request_spec: RequestSpec
    ) -> None:
        """Build on ``instance.host`` / ``instance.node``, as attempt ``instance.attempt``.

        The agent answers with build_succeeded or build_failed. The same attempt twice is built once
        and reported again; a lower attempt than one that was seen is ignored.
        """
        self._cast(
            context, "build_instance", server=agent, instance=instance, request_spec=request_spec
        )

    def delete_instance(
        self, context: RequestContext, agent: str, instance_uuid: str, host: str
    ) -> None:
        """Destroy the instance on ``host``.

        The agent reports instance_deleted, also when it has none.
        """
        self._cast(context, "delete_instance", server=agent, instance_uuid=instance_uuid, host=host)

    def forget_attempt(
        self, context: RequestContext, agent: str, instance_uuid: str, host: str, attempt: int
    ) -> None:
        """Destroy what is left of an attempt that was given to another host.

        Nothing is reported.
        """
        self._cast(
            context,
            "forget_attempt",
            server=agent,
            instance_uuid=instance_uuid,
            host=host,
            attempt=attempt,
        )
