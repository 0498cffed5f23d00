"""A deployment with all that can be asked of trust, and attackers who listen and send there.

Each process signs, has an account of its own on the brokers, and reaches them by TLS alone.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import amqp
from kombu.connection import Connection
from sqlalchemy.engine import make_url

from rpc.broker import topics
from rpc.queue_types import CONTROL_EXCHANGE
from tests.fixtures.deployment import Cell
from tests.fixtures.services import RABBITMQ
from tests.fixtures.signing.authority import CertificateAuthority
from tests.integration.trust.accounts_deployment import AccountsDeployment
from tests.integration.trust.signed_deployment import SignedDeployment
from tests.integration.trust.trusted_zones import TlsDoor, tls_options

ACCESS_REFUSED = 403
CONNECT_SECONDS = 300
"""Long, as with TLS the library keeps this limit for all that it reads afterwards."""
REPLIES = topics.replies(CONTROL_EXCHANGE)


class TrustedDeployment(SignedDeployment, AccountsDeployment):
    """Signatures required, an account for each role, TLS with certificates of both sides."""

    def __init__(
        self, folder: Path, *, top_url: str, cells: Iterable[Cell], options: str = "",
        **arguments: Any,
    ) -> None:  # fmt: skip
        self.certificates = CertificateAuthority(folder / "certificates")
        self.door = TlsDoor(top_url, self.certificates.issue("broker"), self.certificates)
        mine = self.certificates.issue("services")
        super().__init__(
            folder,
            top_url=self.door.url(top_url),
            cells=[
                replace(cell, transport_url=self.door.url(cell.transport_url)) for cell in cells
            ],
            options=options + tls_options(self.certificates.ca_file, mine),
            **arguments,
        )

    def stop(self) -> None:
        super().stop()
        self.door.close()

    def stolen_account(
        self, url: str, role: str, broker: str, scope: str | None = None
    ) -> Connection:
        """Return a connection by an account, with a certificate of the deployment's authority."""
        own = make_url(self.url_for(url, role, broker, scope))
        thief = self.certificates.issue("thief")
        return Connection(
            own.render_as_string(hide_password=False).replace("rabbit://", "amqp://"),
            transport_options={"confirm_publish": True},
            connect_timeout=CONNECT_SECONDS,
            ssl={
                "ca_certs": str(self.certificates.ca_file),
                "certfile": str(thief.cert_file),
                "keyfile": str(thief.key_file),
                "server_hostname": "127.0.0.1",
            },
        )


def inside(url: str) -> Connection:
    """Return a connection of one who rules the broker itself, and need not come by the door."""
    there = RABBITMQ.url.set(database=make_url(url).database)
    text = there.render_as_string(hide_password=False).replace("rabbit://", "amqp://")
    return Connection(text, transport_options={"confirm_publish": True})


@dataclass(frozen=True)
class Sent:
    """A message as it was on the wire: where it went, and the parts that the driver wraps."""

    exchange: str
    key: str
    plain: Mapping[str, Any]
    contents: Mapping[str, Any] = field(default_factory=dict)
    """What was signed of a request."""

    @classmethod
    def of(cls, message: amqp.Message) -> Sent:
        plain = json.loads(json.loads(message.body)["oslo.message"])
        where = message.delivery_info
        signed = plain if "text" in plain else (plain.get("result") or {})
        contents = json.loads(signed["text"]) if "text" in signed else {}
        return cls(where["exchange"], where["routing_key"], plain, contents)

    @property
    def topic(self) -> str:
        """The topic of a request, as its sender signed it."""
        to = self.contents["to"]
        return str(to[0])

    @property
    def method(self) -> str:
        return str(self.contents["message"]["method"])

    @property
    def is_request(self) -> bool:
        return self.contents.get("kind") == "request"

    @property
    def is_fanout(self) -> bool:
        return self.is_request and bool(self.contents["to"][2])

    def with_text(self, **changes: Any) -> Sent:
        """Return the message with other signed contents, and the former signature."""
        text = json.dumps({**self.contents, **changes})
        return replace(self, plain={**self.plain, "text": text})

    def with_plain(self, **changes: Any) -> Sent:
        """Return the message with other parts beside or around what was signed."""
        return replace(self, plain={**self.plain, **changes})


def wrapped(plain: Any, version: Any = "2.0") -> str:
    """Return a message as the driver puts it on the wire."""
    return json.dumps({"oslo.version": version, "oslo.message": json.dumps(plain)})


def put(connection: Connection, exchange: str, key: str, body: str, **properties: Any) -> int:
    """Publish a body; return the code with which the broker refused that, 0 if it did not."""
    message = amqp.Message(
        body, content_type="application/json", content_encoding="utf-8", **properties
    )
    try:
        channel = connection.channel()
        channel.basic_publish(message, exchange=exchange, routing_key=key, mandatory=False)
        channel.close()
    except amqp.exceptions.AMQPError as error:
        return int(error.code)
    return 0


class Eavesdropper:
    """One who rules a broker, and gets a copy of each message on these exchanges."""

    def __init__(self, url: str, exchanges: Iterable[str]) -> None:
        self._connection = inside(url)
        self._channel = self._connection.channel()
        self._queue: str = self._channel.queue_declare(exclusive=True).queue
        for exchange in exchanges:
            self._channel.queue_bind(self._queue, exchange, "#")

    def heard(self) -> list[Sent]:
        """Return the messages since the last time."""
        found = []
        while (message := self._channel.basic_get(self._queue, no_ack=True)) is not None:
            found.append(Sent.of(message))
        return found

    def close(self) -> None:
        self._connection.release()


@contextlib.contextmanager
def listening(deployment: TrustedDeployment) -> Iterator[dict[str, Eavesdropper]]:
    """Lend ears at the brokers, by virtual host: of the top, and of each cell."""
    top = (CONTROL_EXCHANGE, REPLIES, topics.fanout("scheduler"))
    cell = (
        CONTROL_EXCHANGE, REPLIES, topics.fanout("compute"),
        topics.direct_exchange(CONTROL_EXCHANGE, "cell_conductor"),
    )  # fmt: skip
    with contextlib.ExitStack() as lent:
        yield {
            url: lent.enter_context(contextlib.closing(Eavesdropper(url, exchanges)))
            for url, exchanges in [
                (deployment.top_url, top),
                *((each.transport_url, cell) for each in deployment.cells),
            ]
        }
