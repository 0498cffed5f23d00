"""Attacks with each role's account on the queues and exchanges of a broker."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import amqp
from kombu.connection import Connection

from rpc.broker.broker_accounts import (
    CELL,
    CELL_CONDUCTOR,
    COMPUTE,
    MONITOR,
    OPERATOR,
    PARENT_ZONE,
    TOP,
)
from tests.fixtures.services.brokers import rabbitmqctl

REFUSED = {403, 405}
"""Access refused; a queue of another connection alone."""
DEFAULT_EXCHANGE = ""
UNROUTABLE = "of-no-queue"


@dataclass(frozen=True)
class Own:
    """Names, as regular expressions, of what a role may read, write to, and make or delete."""

    reads: str = ""
    writes: str = ""
    makes: str = ""


OWN: Mapping[tuple[str, str], Own] = {
    ("api", TOP): Own(
        "api_fanout|armillary_events(\\..*)?", "armillary", "armillary_events(\\..*)?"
    ),
    ("conductor", TOP): Own(
        "(conductor|zone)([._].*)?|(api|host_states|zone_summaries)_fanout",
        "armillary(_replies|_events)?|(api|conductor|host_states|placement|scheduler|zone"
        "|zone_summaries)_fanout",
        "(conductor|zone)([._].*)?|(api|host_states|zone_summaries)_fanout"
        "|armillary(_replies|_zone)?",
    ),
    ("scheduler", TOP): Own(
        "scheduler([._].*)?",
        "armillary(_replies|_events)?|(scheduler|zone_summaries)_fanout",
        "scheduler([._].*)?",
    ),
    ("placement", TOP): Own(
        "placement([._].*)?", "armillary(_replies)?|placement_fanout", "placement([._].*)?"
    ),
    (CELL_CONDUCTOR, TOP): Own(
        "host_states\\.SCOPE|host_states_fanout",
        "armillary(_replies|_events)?|scheduler_fanout",
        "host_states\\.SCOPE",
    ),
    (OPERATOR, TOP): Own(writes="armillary"),
    (PARENT_ZONE, TOP): Own("zone_summaries_fanout", "armillary_zone"),
    (MONITOR, TOP): Own(),
    (MONITOR, CELL): Own(),
    ("conductor", CELL): Own(writes="armillary_cell_conductor"),
    (CELL_CONDUCTOR, CELL): Own(
        "cell_conductor([._].*)?|compute_fanout",
        "armillary(_cell_conductor|_replies)?|(cell_conductor|compute)_fanout",
        "cell_conductor([._].*)?|compute_fanout|armillary(_cell_conductor|_replies)?",
    ),
    (COMPUTE, CELL): Own(
        "compute\\.SCOPE|compute_fanout", "armillary_(cell_conductor|replies|events)",
        "compute\\.SCOPE",
    ),
}  # fmt: skip
"""Role and broker -> what is its own, beside the queues for answers to itself."""


def queues_of(vhost: str) -> list[str]:
    """Return the names of all queues of a virtual host."""
    return _names("list_queues", vhost)


def exchanges_of(vhost: str) -> list[str]:
    """Return the names of all exchanges of a virtual host, the default one excepted."""
    return _names("list_exchanges", vhost)


def _names(command: str, vhost: str) -> list[str]:
    said = rabbitmqctl(command, "-p", vhost, "name", "--no-table-headers")
    return [line for line in said.splitlines() if line]


@dataclass(frozen=True)
class Thief:
    """One who has an account's password, and tries what is not that account's."""

    connection: Connection
    account: str
    own: Own
    scope: str

    def successes(self, queues: list[str], exchanges: list[str]) -> list[str]:
        """Return what the broker let it do with what is not its own."""
        return [*self._with_queues(queues), *self._with_exchanges(exchanges)]

    def _is(self, pattern: str, name: str) -> bool:
        mine = pattern.replace("SCOPE", re.escape(self.scope))
        answers = rf"replies_{re.escape(self.account)}:.*"
        return re.fullmatch(f"{mine}|{answers}", name) is not None

    def _with_queues(self, queues: list[str]) -> Iterator[str]:
        for name in queues:
            if not self._is(self.own.reads, name):
                if self._may("basic_get", name):
                    yield f"get from {name}"
                if self._may("basic_consume", name):
                    yield f"consume {name}"
                if self._may("queue_purge", name):
                    yield f"purge {name}"
                if self._may("queue_bind", name, "armillary", "#"):
                    yield f"bind {name}"
                if self._may("queue_unbind", name, "armillary", name):
                    yield f"unbind {name}"
            if not self._is(self.own.makes, name):
                if self._may("queue_delete", name):
                    yield f"delete {name}"
                if self._may("queue_declare", name, durable=True, auto_delete=False):
                    yield f"declare {name}"
            if self._may_publish(DEFAULT_EXCHANGE, name):
                yield f"publish to {name} by its name"

    def _with_exchanges(self, exchanges: list[str]) -> Iterator[str]:
        for name in exchanges:
            if not self._is(self.own.writes, name) and self._may_publish(name, UNROUTABLE):
                yield f"publish to {name}"
            if not self._is(self.own.makes, name):
                if self._may("exchange_delete", name):
                    yield f"delete {name}"
                if self._may("exchange_bind", name, "amq.topic", "#"):
                    yield f"bind {name} to another exchange"

    def _may(self, method: str, *words: str, **options: bool) -> bool:
        """Return whether the broker let it do something; a refusal costs the channel alone."""
        channel = self.connection.channel()
        try:
            getattr(channel, method)(*words, **options)
            channel.close()
        except amqp.exceptions.AMQPError as error:
            return error.code not in REFUSED
        return True

    def _may_publish(self, exchange: str, key: str) -> bool:
        channel = self.connection.channel()
        try:
            channel.basic_publish(amqp.Message("forged"), exchange=exchange, routing_key=key)
            channel.close()
        except amqp.exceptions.AMQPError as error:
            return error.code not in REFUSED
        return True
