"""The serving side of a topic: explicit exposure, a ping, a thread pool with a bound."""

from __future__ import annotations

from typing import Any

import oslo_messaging
from oslo_config import cfg

from rpc.timing import ServerTimes


class _BaseEndpoint:
    """What every service answers."""

    target = oslo_messaging.Target(namespace="baseapi", version="1.0")

    @oslo_messaging.expose  # type: ignore[untyped-decorator]
    def ping(self, context: Any, arg: str) -> dict[str, str]:
        """Answer, to show that this server is alive and consuming."""
        return {"service": "armillary", "arg": arg}


class RpcServer:
    """One topic and server name; what is not marked with ``rpc.expose`` cannot be called."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        transport: oslo_messaging.RPCTransport,
        *,
        topic: str,
        server: str,
        endpoints: list[Any],
        version: str,
        executor: str,
        serializer: oslo_messaging.Serializer,
    ) -> None:
        self.topic = topic
        self.name = server
        for endpoint in endpoints:
            endpoint.target = oslo_messaging.Target(version=version)
        self._server = oslo_messaging.get_rpc_server(
            transport,
            oslo_messaging.Target(topic=topic, server=server),
            [*endpoints, _BaseEndpoint()],
            serializer=serializer,
            access_policy=oslo_messaging.ExplicitRPCAccessPolicy,
            **({"executor": executor} if executor != "threading" else {}),
        )
        dispatcher = self._server.dispatcher
        dispatcher.dispatch = ServerTimes(topic).timed(dispatcher.dispatch)
        self._conf = conf

    def start(self) -> None:
        """Declare the queues and consume."""
        self._server.start()

    def stop(self) -> None:
        """Take no new message."""
        self._server.stop()

    def wait(self) -> None:
        """Wait until the messages in hand are done."""
        self._server.wait()
