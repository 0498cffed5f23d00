"""RabbitMQ accounts: one per role, with the permissions it needs.

The table lists what a role serves, calls and reads on each broker. Names of queues and exchanges,
and thereby permissions, follow from it and from ``rpc.broker.topics``. ``rpc.authority`` does the
same for methods, which a broker cannot tell apart.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping

from armillary import exception
from rpc import queue_types
from rpc.broker import topics
from rpc.notifications import event_feed

TOP, CELL = "top", "cell"
COMPUTE, CELL_CONDUCTOR = "compute", "cell-conductor"
MONITOR, OPERATOR, PARENT_ZONE = "monitor", "operator", "parent-zone"
ACCOUNT_SCOPES = {COMPUTE: "host", CELL_CONDUCTOR: "cell UUID"}
"""Roles with an account for each process -> what each account is named after."""

NOTHING = "^$"
_NO_WILDCARD = "[^#*]+"


@dataclasses.dataclass(frozen=True)
class BrokerUse:
    """A role's use of one broker, as topics."""

    serves: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    """Topics whose servers it sends to, any or a named one, and gets answers from."""
    tells: tuple[str, ...] = ()
    """Topics whose fanout it writes to."""
    hears: tuple[str, ...] = ()
    """Topics whose fanout it reads without serving them."""
    makes_exchanges: bool = False
    """Whether it may create, and so delete, the shared exchanges; other roles wait for it."""
    writes_events: bool = False
    reads_events: bool = False


TABLE: Mapping[str, Mapping[str, BrokerUse]] = {
    "api": {TOP: BrokerUse(serves=("api",), calls=("conductor",), reads_events=True)},
    "conductor": {
        TOP: BrokerUse(
            serves=("conductor", "zone"),
            calls=("conductor", "host_states", "placement", "scheduler"),  # as scheduler, too
            tells=("api", "conductor", "host_states", "placement", "scheduler", "zone_summaries"),
            makes_exchanges=True,
            writes_events=True,
        ),
        CELL: BrokerUse(calls=("cell_conductor",)),
    },
    "scheduler": {
        TOP: BrokerUse(
            serves=("scheduler",),
            calls=("conductor", "host_states", "placement"),
            tells=("zone_summaries",),
            writes_events=True,
        )
    },
    "placement": {TOP: BrokerUse(serves=("placement",), calls=("conductor",))},
    CELL_CONDUCTOR: {
        TOP: BrokerUse(
            serves=("host_states",),
            calls=("conductor", "placement"),
            tells=("scheduler",),
            writes_events=True,
        ),
        CELL: BrokerUse(
            serves=("cell_conductor",),
            calls=("cell_conductor", "compute"),  # itself, to check its link to the broker
            tells=("compute",),
            makes_exchanges=True,
        ),
    },
    COMPUTE: {CELL: BrokerUse(serves=("compute",), calls=("cell_conductor",), writes_events=True)},
    OPERATOR: {TOP: BrokerUse(calls=("conductor", "placement"))},
    PARENT_ZONE: {TOP: BrokerUse(calls=("zone",), hears=("zone_summaries",))},
    MONITOR: {TOP: BrokerUse(), CELL: BrokerUse()},
}
"""Role -> broker -> use. A parent zone's account is on the child zone's top broker."""

SERVICES = tuple(role for role in TABLE if role not in {MONITOR, OPERATOR, PARENT_ZONE})
"""Roles that exist in every deployment."""


@dataclasses.dataclass(frozen=True)
class Access:
    """Regular expressions of names that may be configured, written and read."""

    configure: str
    write: str
    read: str


@dataclasses.dataclass(frozen=True)
class Permissions:
    """Permissions of one account on one virtual host."""

    account: str
    access: Access
    by_exchange: Mapping[str, tuple[str, str]]
    """Topic exchange -> regular expressions of the routing keys it may write and bind."""


def account_name(role: str, scope: str | None = None, prefix: str = "") -> str:
    """Return the name of a role's account, or of one agent's or cell conductor's account.

    Raises Invalid for an unknown role, and for a missing or superfluous scope.
    """
    if role not in TABLE:
        raise exception.Invalid(reason=f"unknown role {role}; known: {', '.join(sorted(TABLE))}")
    if (scope is not None) != (role in ACCOUNT_SCOPES):
        wanted = (
            f"of one {ACCOUNT_SCOPES[role]}" if role in ACCOUNT_SCOPES else "the same everywhere"
        )
        raise exception.Invalid(reason=f"the account of {role} is {wanted}")
    return prefix + (role if scope is None else f"{role}-{scope}")


def permissions(
    role: str,
    broker: str,
    *,
    scope: str | None = None,
    prefix: str = "",
    control_exchange: str = queue_types.CONTROL_EXCHANGE,
) -> Permissions:
    """Return a role's permissions on a broker. Raises Invalid if it has no account there."""
    account = account_name(role, scope, prefix)
    part = TABLE[role].get(broker)
    if part is None:
        raise exception.Invalid(
            reason=f"{role} has no account on a {broker} broker, only on: "
            f"{', '.join(sorted(TABLE[role]))}"
        )
    return _Names(part, broker, account, scope, prefix, control_exchange).permissions()


@dataclasses.dataclass(frozen=True)
class _Names:
    """The queue and exchange names that follow from one part."""

    part: BrokerUse
    broker: str
    account: str
    scope: str | None
    prefix: str
    control_exchange: str

    def permissions(self) -> Permissions:
        own = [*self._queues(), *self._own_streams(), *self._replies(), *self._event_queues()]
        made = [re.escape(name) for name in self._exchanges_it_makes()]
        written = [re.escape(name) for name in self._exchanges_it_writes()]
        read = [re.escape(name) for name in self._exchanges_it_binds()]
        return Permissions(
            self.account,
            Access(_any([*own, *made]), _any([*own, *written]), _any([*own, *read])),
            {name: self._keys(name) for name in self._topic_exchanges()},
        )

    # Queues ---------------------------------------------------------------------------------------

    def _queues(self) -> list[str]:
        return [key for topic in self.part.serves for key in self._served_keys(topic)]

    def _served_keys(self, topic: str) -> list[str]:
        found = topics.find(topic)
        shared = [re.escape(topic)] if found.has_shared_queue else []
        server = _NO_WILDCARD if self.scope is None else re.escape(self.scope)
        if topic == "cell_conductor":  # its servers are named after machines, not cells
            server = _NO_WILDCARD
        return shared + ([re.escape(f"{topic}.") + server] if found.has_named_queues else [])

    def _own_streams(self) -> list[str]:
        """Return the fanouts that it creates, with any suffix that the driver may add."""
        mine = [t for t in self.part.serves if not topics.find(t).is_fanout_made_by_others]
        fanout_topics = [
            other for t in self.part.serves for other in topics.find(t).makes_fanouts_of
        ]
        return [f"{re.escape(topics.fanout(t))}(_.*)?" for t in mine] + [
            re.escape(topics.fanout(t)) for t in fanout_topics
        ]

    def _replies(self) -> list[str]:
        return [_reply_queues(re.escape(self.account))] if self.part.calls else []

    def _event_queues(self) -> list[str]:
        return [rf"{event_feed.EXCHANGE}\.[0-9a-f]+"] if self.part.reads_events else []

    # Exchanges ------------------------------------------------------------------------------------

    def _direct_exchanges(self, names: Iterable[str]) -> list[str]:
        return [
            topics.direct_exchange(self.control_exchange, topic)
            for topic in names
            if topics.find(topic).has_direct_exchange
        ]

    def _exchanges_it_makes(self) -> list[str]:
        common = [self.control_exchange, topics.replies(self.control_exchange)]
        events = [event_feed.EXCHANGE] if self.part.reads_events else []
        return (
            (common if self.part.makes_exchanges else [])
            + self._direct_exchanges(self.part.serves)
            + events
        )

    def _exchanges_it_writes(self) -> list[str]:
        part = self.part
        plain = any(not topics.find(topic).has_direct_exchange for topic in part.calls)
        return [
            *([self.control_exchange] if plain else []),
            *self._direct_exchanges(part.calls),
            *([topics.replies(self.control_exchange)] if part.serves else []),
            *(topics.fanout(topic) for topic in part.tells),
            *([event_feed.EXCHANGE] if part.writes_events else []),
        ]

    def _exchanges_it_binds(self) -> list[str]:
        part = self.part
        return [
            *([self.control_exchange] if part.serves else []),
            *self._direct_exchanges(part.serves),
            *([topics.replies(self.control_exchange)] if part.calls else []),
            *(topics.fanout(topic) for topic in (*part.serves, *part.hears)),
            *([event_feed.EXCHANGE] if part.reads_events else []),
        ]

    # Keys -----------------------------------------------------------------------------------------

    def _topic_exchanges(self) -> list[str]:
        used = {*self._exchanges_it_writes(), *self._exchanges_it_binds()}
        candidates = [
            self.control_exchange,
            topics.replies(self.control_exchange),
            *self._direct_exchanges(topics.TOPICS),
        ]
        return [name for name in candidates if name in used]

    def _keys(self, exchange: str) -> tuple[str, str]:
        part = self.part
        if exchange == topics.replies(self.control_exchange):
            return _any(self._replies_it_sends()), _any(self._replies())
        fits = [t for t in (*part.calls, *part.serves) if self._is_at(exchange, t)]
        called = [_called_keys(topic) for topic in part.calls if topic in fits]
        served = [key for t in part.serves if t in fits for key in self._served_keys(t)]
        return _any(called), _any(served)

    def _is_at(self, exchange: str, topic: str) -> bool:
        """Return whether an exchange leads to a topic; topics with a direct exchange use both."""
        if exchange == self.control_exchange:
            return topic in self.part.serves or not topics.find(topic).has_direct_exchange
        return exchange == topics.direct_exchange(self.control_exchange, topic)

    def _replies_it_sends(self) -> list[str]:
        served = set(self.part.serves)
        callers = [
            role
            for role, parts in TABLE.items()
            if self.broker in parts and served & set(parts[self.broker].calls)
        ]
        names = "|".join(re.escape(self.prefix + role) for role in callers)
        return [_reply_queues(f"({names})(-[^:]*)?")] if callers else []


def _called_keys(topic: str) -> str:
    found = topics.find(topic)
    server = re.escape(f"{topic}.") + _NO_WILDCARD
    if not found.has_shared_queue:
        return server
    return f"{re.escape(topic)}(\\..+)?"


def _reply_queues(account: str) -> str:
    return f"{topics.REPLY_PREFIX}{account}:{_NO_WILDCARD}"


def _any(patterns: Iterable[str]) -> str:
    """Return one expression that matches any pattern completely; without any, nothing."""
    found = list(dict.fromkeys(patterns))
    return f"^({'|'.join(found)})$" if found else NOTHING
