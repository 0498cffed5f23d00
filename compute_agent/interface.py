"""RPC client of compute agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armillary.context import RequestContext
from objects.instance import Instance
from objects.instance_order import InstanceOrder
from objects.request_spec import RequestSpec
from rpc.client import RpcClient

_OBJECTS_OF_1_0 = {
    "Destination": "1.0",
    "Instance": "1.0",
    "RequestSpec": "1.0",
    "SchedulerLimits": "1.0",
}
"""Objects for which a 1.0 agent needs an older version."""


class ComputeAPI(RpcClient):
    """An agent, on its cell's broker, by its name (``Service.agent``).

    All methods except get_console_output are casts: the agent reports the results.
    Version history: 1.0 initial; 1.1 adds carry_out, abort_order and
    get_console_output, and build_instance takes Instance and RequestSpec 1.1; 1.2 adds
    build_instances.
    """

    TOPIC = "compute"
    VERSION = "1.2"

    def build_instance(
        self, context: RequestContext, agent: str, instance: Instance, request_spec: RequestSpec
    ) -> None:
        """Build on ``instance.host`` / ``instance.node``, as attempt ``instance.attempt``.

        The agent answers with build_succeeded or build_failed. A repeated attempt is built once and
        reported again; an attempt lower than one already seen is ignored. Raises Invalid if an
        agent before 1.1 does not support the request.
        """
        is_older = not self.can_send_to(agent, "1.1")

        def known(made: Instance | RequestSpec) -> Any:
            return made.obj_to_primitive("1.0", _OBJECTS_OF_1_0) if is_older else made

        self._cast(
            context,
            "build_instance",
            server=agent,
            instance=known(instance),
            request_spec=known(request_spec),
        )

    def build_instances(
        self,
        context: RequestContext,
        agent: str,
        instances: Sequence[Instance],
        request_specs: Sequence[RequestSpec],
    ) -> None:
        """Request several builds, each as ``build_instance`` does, with one spec per instance.

        Raises RpcVersionTooOld for an agent before 1.2.
        """
        self._cast(
            context,
            "build_instances",
            version="1.2",
            server=agent,
            instances=instances,
            request_specs=request_specs,
        )

    def delete_instance(
        self, context: RequestContext, agent: str, instance_uuid: str, host: str
    ) -> None:
        """Destroy the instance on ``host``.

        The agent reports instance_deleted even if there is none.
        """
        self._cast(context, "delete_instance", server=agent, instance_uuid=instance_uuid, host=host)

    def forget_attempt(
        self, context: RequestContext, agent: str, instance_uuid: str, host: str, attempt: int
    ) -> None:
        """Destroy the remains of an attempt that moved to another host.

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

    def carry_out(self, context: RequestContext, agent: str, order: InstanceOrder) -> None:
        """Execute one step of an operation on ``order.host``; the agent sends order_answered.

        A repeated command is executed once and answered again; one with a lower sequence number
        than already seen for the instance on that host is ignored. Raises RpcVersionTooOld for an
        agent before 1.1.
        """
        self._cast(context, "carry_out", version="1.1", server=agent, order=order)

    def abort_order(
        self, context: RequestContext, agent: str, instance_uuid: str, host: str, sequence: int
    ) -> None:
        """Abort a live migration if still possible; its own command is answered."""
        self._cast(
            context,
            "abort_order",
            version="1.1",
            server=agent,
            instance_uuid=instance_uuid,
            host=host,
            sequence=sequence,
        )

    def get_console_output(
        self,
        context: RequestContext,
        agent: str,
        instance_uuid: str,
        host: str,
        *,
        lines: int | None,
    ) -> str:
        """Return the end of a guest's console output. Raises what the driver raises."""
        result: str = self._call(
            context,
            "get_console_output",
            version="1.1",
            server=agent,
            instance_uuid=instance_uuid,
            host=host,
            lines=lines,
        )
        return result
