"""The broker's accounts: one for each role, with what it may do there, as RabbitMQ wants it said.

The table tells what a role serves, calls and hears on which broker; names of queues and exchanges,
and so the permissions, follow from that and from ``rpc.topics``. ``rpc.authority`` says the same of
methods, which a broker does not know.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping

from armillary import exception
from rpc import event_feed, queue_types, topics

TOP, CELL = "top", "cell"
COMPUTE, CELL_CONDUCTOR = "compute", "cell-conductor"
MONITOR, OPERATOR, PARENT_ZONE = "monitor", "operator", "parent-zone"
NAMED_AFTER = {COMPUTE: "host", CELL_CONDUCTOR: "cell UUID"}
"""Roles of which each process has an account of its own, and what that one is named after."""

NOTHING = "^$"
_NO_WILDCARD = "[^#*]+"


@dataclasses.dataclass(frozen=True)
class Part:
    """What a role does on one broker; topics in each case."""

    serves: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    """Sent to, and answered by, any of their servers or a named one."""
    tells: tuple[str, ...] = ()
    """Sent to all their servers at once."""
    hears: tuple[str, ...] = ()
    """Fanouts that it reads and does not serve."""
    makes_exchanges: bool = False
    """Whether it may make, and so delete, the exchanges that all use."""
    writes_events: bool = False
    reads_events: bool = False


TABLE: Mapping[str, Mapping[str, Part]] = {
    "api": {TOP: Part(serves=("api",), calls=("conductor",), reads_events=True)},
    "conductor": {
        TOP: Part(
            serves=("conductor", "zone"),
            calls=("conductor", "placement", "scheduler"),
            tells=("api", "conductor", "host_states", "placement", "scheduler", "zone_summaries"),
            makes_exchanges=True,
            writes_events=True,
        ),
        CELL: Part(calls=("cell_conductor",)),
    },
    "scheduler": {
        TOP: Part(
            serves=("scheduler",),
            calls=("conductor", "host_states", "placement"),
            makes_exchanges=True,
            writes_events=True,
        )
    },
    "placement": {TOP: Part(serves=("placement",), calls=("conductor",), makes_exchanges=True)},
    CELL_CONDUCTOR: {
        TOP: Part(
            serves=("host_states",),
            calls=("conductor", "placement"),
            tells=("scheduler",),
            writes_events=True,
        ),
        CELL: Part(
            serves=("cell_conductor",),
            calls=("cell_conductor", "compute"),  # itself, to tell whether it is reached
            tells=("compute",),
            makes_exchanges=True,
        ),
    },
    COMPUTE: {CELL: Part(serves=("compute",), calls=("cell_conductor",), writes_events=True)},
    OPERATOR: {TOP: Part(calls=("conductor", "placement"))},
    PARENT_ZONE: {TOP: Part(calls=("zone",), hears=("zone_summaries",))},
    MONITOR: {TOP: Part(), CELL: Part()},
}
"""Role -> broker -> what it does there. The parent zone's account is on the child's top broker."""

SERVICES = tuple(role for role in TABLE if role not in {MONITOR, OPERATOR, PARENT_ZONE})
"""Roles that every deployment has."""


@dataclasses.dataclass(frozen=True)
class Access:
    """Regular expressions of names that may be made, written to, and read from."""

    configure: str
    write: str
    read: str


@dataclasses.dataclass(frozen=True)
class Permissions:
    """What one account may do on one virtual host."""

    account: str
    access: Access
    by_exchange: Mapping[str, tuple[str, str]]
    """Topic exchange -> regular expressions of the keys it may write, and may bind for reading."""


def account_name(role: str, scope: str | None = None, prefix: str = "") -> str:
    """Return the name of an account: a role's, or that of one agent's or one cell's conductor.

    Raises Invalid for a role that is unknown, and where the scope is missing or too much.
    """
    if role not in TABLE:
        raise exception.Invalid(reason=f"no role {role}; there are: {', '.join(sorted(TABLE))}")
    if (scope is not None) != (role in NAMED_AFTER):
        wanted = f"of one {NAMED_AFTER[role]}" if role in NAMED_AFTER else "the same everywhere"
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
    """Return what a role's account may do on a broker. Raises Invalid where it has none there."""
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
    """The names that one part comes to."""

    part: Part
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
        if topic == "cell_conductor":  # served under the names of machines, not of cells
            server = _NO_WILDCARD
        return shared + ([re.escape(f"{topic}.") + server] if found.has_named_queues else [])

    def _own_streams(self) -> list[str]:
        """Return fanouts that it makes: its own with any name that the driver may give them."""
        mine = [t for t in self.part.serves if not topics.find(t).is_fanout_made_by_others]
        lent = [other for t in self.part.serves for other in topics.find(t).makes_fanouts_of]
        return [f"{re.escape(topics.fanout(t))}(_.*)?" for t in mine] + [
            re.escape(topics.fanout(t)) for t in lent
        ]

    def _replies(self) -> list[str]:
        return [_reply_queues(re.escape(self.account))] if self.part.calls else []

    def _event_queues(self) -> list[str]:
        return [rf"{event_feed.EXCHANGE}\.[0-9a-f]+"] if self.part.reads_events else []

    # Exchanges ------------------------------------------------------------------------------------

    def _doors(self, names: Iterable[str]) -> list[str]:
        return [
            topics.door(self.control_exchange, topic)
            for topic in names
            if topics.find(topic).has_door
        ]

    def _exchanges_it_makes(self) -> list[str]:
        common = [self.control_exchange, topics.replies(self.control_exchange)]
        events = [event_feed.EXCHANGE] if self.part.reads_events else []
        return (
            (common if self.part.makes_exchanges else []) + self._doors(self.part.serves) + events
        )

    def _exchanges_it_writes(self) -> list[str]:
        part = self.part
        plain = any(not topics.find(topic).has_door for topic in part.calls)
        return [
            *([self.control_exchange] if plain else []),
            *self._doors(part.calls),
            *([topics.replies(self.control_exchange)] if part.serves else []),
            *(topics.fanout(topic) for topic in part.tells),
            *([event_feed.EXCHANGE] if part.writes_events else []),
        ]

    def _exchanges_it_binds(self) -> list[str]:
        part = self.part
        return [
            *([self.control_exchange] if part.serves else []),
            *self._doors(part.serves),
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
            *self._doors(topics.TOPICS),
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
        """Tell whether a topic is reached through an exchange; queues with a door are at both."""
        if exchange == self.control_exchange:
            return topic in self.part.serves or not topics.find(topic).has_door
        return exchange == topics.door(self.control_exchange, topic)

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
    """Return one expression for all of them, each as a whole name; of none, one for nothing."""
    found = list(dict.fromkeys(patterns))
    return f"^({'|'.join(found)})$" if found else NOTHING
