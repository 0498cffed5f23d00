"""The serving side of a topic: explicit exposure, a ping, a thread pool with a bound."""

from __future__ import annotations

from typing import Any

import oslo_messaging
from oslo_config import cfg

from rpc.receiving import ReceivingServer
from rpc.signing import serving
from rpc.signing.post import Post
from rpc.timing import ServerTimes


class _BaseEndpoint:
    """What every service answers."""

    target = oslo_messaging.Target(namespace="baseapi", version="1.1")

    def __init__(self, post: Post | None) -> None:
        self._post = post

    @oslo_messaging.expose  # type: ignore[untyped-decorator]
    def ping(self, context: Any, arg: str) -> dict[str, str]:
        """Answer, to show that this server is alive and consuming."""
        return {"service": "armillary", "arg": arg}

    @oslo_messaging.expose  # type: ignore[untyped-decorator]
    def update_trust(self, context: Any, kind: str, document: str) -> None:
        """Take over a trust list that is newer than the one here, when a root key signed it."""
        if self._post is not None:
            self._post.take_over(kind, document)


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
        post: Post | None = None,
    ) -> None:
        self.topic = topic
        self.name = server
        for endpoint in endpoints:
            endpoint.target = oslo_messaging.Target(version=version)
        self._server = oslo_messaging.get_rpc_server(
            transport,
            oslo_messaging.Target(topic=topic, server=server),
            [*endpoints, _BaseEndpoint(post)],
            serializer=serializer,
            access_policy=oslo_messaging.ExplicitRPCAccessPolicy,
            **_kind_of(executor),
        )
        dispatcher = self._server.dispatcher
        timed = ServerTimes(topic).timed(dispatcher.dispatch)
        if post is None:
            dispatcher.dispatch = serving.unsealed(topic, timed)
        else:
            dispatcher.dispatch = serving.checked(post, post.address(topic, server), timed)
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


def _kind_of(executor: str) -> dict[str, Any]:
    """Return what makes the library's server one for this executor."""
    if executor == "threading":
        return {"server_cls": ReceivingServer}
    return {"executor": executor}
