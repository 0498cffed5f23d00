"""Topology of each topic on the broker: its queues, its exchanges, and who creates them.

Broker permissions are by name. A service that is trusted less than those it talks to therefore
shares no queue with its peers, creates nothing that others use, and reaches its servers through an
exchange to which only their queues are bound (a *direct exchange*): a broker checks the routing key
of a message, and older ones not the additional ones that it may carry.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """Queues and exchanges of one topic on RabbitMQ."""

    has_shared_queue: bool = True
    """Whether its servers share a queue for messages to any of them."""
    has_named_queues: bool = True
    """Whether each server has a queue of its own."""
    has_direct_exchange: bool = False
    """Whether callers use an exchange for this topic only."""
    is_fanout_made_by_others: bool = False
    """Whether servers only read their fanout, which others create."""
    makes_fanouts_of: tuple[str, ...] = ()
    """Topics whose fanouts the servers of this one create."""


_PLAIN = Topic()

TOPICS = {
    "api": Topic(
        has_shared_queue=False, has_named_queues=False, is_fanout_made_by_others=True
    ),  # receives only trust lists
    "cell_conductor": Topic(has_direct_exchange=True, makes_fanouts_of=("compute",)),
    "compute": Topic(has_shared_queue=False, is_fanout_made_by_others=True),
    "conductor": Topic(makes_fanouts_of=("api", "host_states")),
    "host_states": Topic(has_shared_queue=False, is_fanout_made_by_others=True),
    "zone": Topic(has_direct_exchange=True, makes_fanouts_of=("zone_summaries",)),
    "zone_summaries": Topic(
        has_shared_queue=False, has_named_queues=False, is_fanout_made_by_others=True
    ),
}
"""Topics that differ from the default."""


def topic_of(routing_key: str) -> str:
    """Return the topic of a routing key, which may name one of its servers."""
    return routing_key.partition(".")[0]


def find(topic: str) -> Topic:
    """Return the topology of a topic."""
    return TOPICS.get(topic, _PLAIN)


def has_queue(routing_key: str) -> bool:
    """Return whether its servers have a queue for this routing key."""
    topic = find(topic_of(routing_key))
    return topic.has_named_queues if "." in routing_key else topic.has_shared_queue


def direct_exchange(control_exchange: str, topic: str) -> str:
    """Return the name of a topic's own exchange."""
    return f"{control_exchange}_{topic}"


def fanout(topic: str) -> str:
    """Return the name of a topic's fanout, both the exchange and the stream."""
    return f"{topic}_fanout"


def replies(control_exchange: str) -> str:
    """Return the name of the exchange for replies."""
    return f"{control_exchange}_replies"


REPLY_PREFIX = "replies_"
"""Followed by the account and a unique part."""


def reply_queue(account: str, process: str, unique: str) -> str:
    """Return the name of a process's reply queue, which contains its account."""
    return f"{REPLY_PREFIX}{account}:{process}:{unique}"
