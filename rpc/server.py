"""RPC server of a topic: explicit exposure, a ping, a bounded thread pool."""

from __future__ import annotations

from typing import Any

import oslo_messaging
from oslo_config import cfg

from rpc.signing import dispatch
from rpc.signing.message_signer import MessageSigner
from rpc.thread_pool import ReceivingServer
from rpc.timing import ServerTimes


class _BaseEndpoint:
    """Methods of every server."""

    target = oslo_messaging.Target(namespace="baseapi", version="1.1")

    def __init__(self, post: MessageSigner | None) -> None:
        self._post = post

    @oslo_messaging.expose  # type: ignore[untyped-decorator]
    def ping(self, context: Any, arg: str) -> dict[str, str]:
        """Answer, to show that this server is alive and consuming."""
        return {"service": "armillary", "arg": arg}

    @oslo_messaging.expose  # type: ignore[untyped-decorator]
    def update_trust(self, context: Any, kind: str, document: str) -> None:
        """Replace the trust list by a newer one that a root key signed."""
        if self._post is not None:
            self._post.take_over(kind, document)


class RpcServer:
    """Server of one topic under one name; only methods marked ``rpc.expose`` can be called."""

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
        post: MessageSigner | None = None,
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
            **_server_options(executor),
        )
        dispatcher = self._server.dispatcher
        timed = ServerTimes(topic).timed(dispatcher.dispatch)
        if post is None:
            dispatcher.dispatch = dispatch.unverified(topic, timed)
        else:
            dispatcher.dispatch = dispatch.checked(post, post.address(topic, server), timed)
        self._conf = conf

    def start(self) -> None:
        """Declare the queues and start to consume."""
        self._server.start()

    def stop(self) -> None:
        """Stop taking messages."""
        self._server.stop()

    def wait(self) -> None:
        """Wait until the received messages are done."""
        self._server.wait()


def _server_options(executor: str) -> dict[str, Any]:
    """Return the arguments for oslo.messaging's server with this executor."""
    if executor == "threading":
        return {"server_cls": ReceivingServer}
    return {"executor": executor}
