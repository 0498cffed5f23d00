"""What each topic has on the broker: its queues, its exchanges, and who makes them.

A broker's permissions are by name. So whoever is trusted less than those it speaks to shares no
queue with others of its kind, makes nothing that others use, and reaches those it calls through an
exchange at which nobody else's queues are bound (a *door*): a broker looks at the address of a
message, and older ones not at the further addresses that it may carry.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """How one topic is served on RabbitMQ."""

    has_shared_queue: bool = True
    """Whether whoever serves it takes messages to any of them."""
    has_named_queues: bool = True
    """Whether each server takes messages to itself."""
    has_door: bool = False
    """Whether callers go through an exchange of this topic's own."""
    is_fanout_made_by_others: bool = False
    """Whether servers only read their fanout, which others make."""
    makes_fanouts_of: tuple[str, ...] = ()
    """Topics whose fanouts the servers of this one make."""


_PLAIN = Topic()

TOPICS = {
    "api": Topic(
        has_shared_queue=False, has_named_queues=False, is_fanout_made_by_others=True
    ),  # hears of new trust lists, and is asked nothing
    "cell_conductor": Topic(has_door=True, makes_fanouts_of=("compute",)),
    "compute": Topic(has_shared_queue=False, is_fanout_made_by_others=True),
    "conductor": Topic(makes_fanouts_of=("api", "host_states")),
    "host_states": Topic(has_shared_queue=False, is_fanout_made_by_others=True),
    "zone": Topic(has_door=True, makes_fanouts_of=("zone_summaries",)),
    "zone_summaries": Topic(
        has_shared_queue=False, has_named_queues=False, is_fanout_made_by_others=True
    ),
}
"""Those that are not plain."""


def topic_of(routing_key: str) -> str:
    """Return the topic of a message to it, or to one server of it."""
    return routing_key.partition(".")[0]


def find(topic: str) -> Topic:
    """Return what a topic has."""
    return TOPICS.get(topic, _PLAIN)


def has_queue(routing_key: str) -> bool:
    """Tell whether its servers have a queue for messages so addressed."""
    topic = find(topic_of(routing_key))
    return topic.has_named_queues if "." in routing_key else topic.has_shared_queue


def door(control_exchange: str, topic: str) -> str:
    """Return the name of the exchange that is a topic's own."""
    return f"{control_exchange}_{topic}"


def fanout(topic: str) -> str:
    """Return the name of the exchange, and of the stream, of messages to all servers of a topic."""
    return f"{topic}_fanout"


def replies(control_exchange: str) -> str:
    """Return the name of the exchange that answers go through."""
    return f"{control_exchange}_replies"


REPLY_PREFIX = "replies_"
"""Then the account, and what makes it unique; a queue with another name is of an older peer."""


def reply_queue(account: str, process: str, unique: str) -> str:
    """Return the name of the queue in which a process, by its account, gets its answers."""
    return f"{REPLY_PREFIX}{account}:{process}:{unique}"
