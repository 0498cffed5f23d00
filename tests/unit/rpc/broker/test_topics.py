"""Which queues a topic has: those that everybody of a kind would share are left out for agents."""

import pytest

from rpc.broker import topics


@pytest.mark.parametrize(
    ("routing_key", "has_queue"),
    [
        ("scheduler", True),
        ("scheduler.sched-1", True),
        ("compute", False),
        ("compute.rack1.example.org", True),
        ("host_states", False),
        ("host_states.6f1c2f0e", True),
        ("api", False),
        ("api.host1", False),
        ("zone", True),
        ("zone_summaries", False),
        ("zone_summaries.host1", False),
    ],
)
def test_a_topic_has_the_queues_that_are_needed(routing_key: str, has_queue: bool) -> None:
    """Plain topics have both kinds."""
    assert topics.has_queue(routing_key) is has_queue


def test_every_fanout_that_others_make_is_made_by_one_topic() -> None:
    """Else its readers would wait for ever."""
    made = [each for topic in topics.TOPICS.values() for each in topic.makes_fanouts_of]
    read = [name for name, topic in topics.TOPICS.items() if topic.is_fanout_made_by_others]
    assert sorted(made) == sorted(read)


def test_a_topic_is_what_comes_before_the_first_dot() -> None:
    """Names of servers may have dots themselves."""
    assert topics.topic_of("compute.rack1.example.org") == "compute"
    assert topics.topic_of("conductor") == "conductor"
