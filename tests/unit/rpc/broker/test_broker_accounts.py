"""Permissions of each role's broker account: one table, which fits the declared methods."""

import re

import pytest

from armillary import exception
from rpc.broker import broker_accounts
from rpc.broker.broker_accounts import (
    ACCOUNT_SCOPES,
    CELL,
    TABLE,
    TOP,
    Access,
    BrokerUse,
    Permissions,
    permissions,
)
from rpc.notifications import event_feed
from tests.fixtures.messages.interfaces import BY_TOPIC

ACCOUNTS = {"child_zone": ("conductor", "scheduler")}
NEVER_SENT = {
    ("cell_conductor", "scheduler"),
    ("cell_conductor", "api"),
    ("cell_conductor", "operator"),
}
"""Topic and role: allowed by a declaration, over a connection by another role's account."""
IN_CELL = ("cell_conductor", "compute")
ALL = [(role, broker) for role, parts in TABLE.items() for broker in parts]


def of(role: str, broker: str, scope: str = "s.1") -> Permissions:
    return permissions(role, broker, scope=scope if role in ACCOUNT_SCOPES else None)


def agent(host: str) -> Permissions:
    return permissions("compute", CELL, scope=host)


@pytest.mark.parametrize("topic", BY_TOPIC)
def test_who_may_call_a_topic_has_an_account_that_reaches_it(topic: str) -> None:
    """Whatever role a declaration lets in, on the broker where the topic is served."""
    broker = CELL if topic in IN_CELL else TOP
    methods = BY_TOPIC[topic].METHODS.values()
    roles = {caller.role for method in methods for caller in method.callers}
    assert roles or not methods  # the API's topic only receives trust lists
    for role in sorted(roles):
        for account in ACCOUNTS.get(role, (role.replace("_", "-"),)):
            part = TABLE[account].get(broker, BrokerUse())
            assert topic in {*part.calls, *part.tells} or (topic, role) in NEVER_SENT


@pytest.mark.parametrize(("role", "broker"), ALL, ids=lambda each: str(each))
def test_all_expressions_are_of_whole_names(role: str, broker: str) -> None:
    """None matches a name that only begins or ends with what is meant, and none matches all."""
    found = of(role, broker)
    access = (found.access.configure, found.access.write, found.access.read)
    for pattern in (*access, *(key for keys in found.by_exchange.values() for key in keys)):
        assert pattern.startswith("^")
        assert pattern.endswith("$")
        re.compile(pattern)
        for name in ("", "x", "amq.default", "compute.another", "xconductor", "#", "*.*"):
            assert (
                re.match(pattern, name) is None
                or pattern == broker_accounts.NOTHING
                or (name == "compute.another" and role == "cell-conductor")
            )


@pytest.mark.parametrize(
    "other", ["rack1.40", "xrack1.4", "rack1-4", "rack1", "rack1.4.5"], ids=lambda name: name
)
def test_an_agents_account_is_of_one_host_alone(other: str) -> None:
    """Also where names look alike to a regular expression."""
    mine = agent("rack1.4")
    queue = f"compute.{other}"
    replies = f"replies_compute-{other}:a:b:0"
    for pattern in vars_of(mine.access):
        assert re.match(pattern, queue) is None
        assert re.match(pattern, replies) is None
    write, read = mine.by_exchange["armillary_replies"]
    assert re.match(read, replies) is None
    assert re.match(write, replies) is None
    assert re.match(mine.by_exchange["armillary"][1], queue) is None
    assert re.match(mine.by_exchange["armillary"][1], "compute.rack1.4")


def vars_of(access: Access) -> tuple[str, str, str]:
    return access.configure, access.write, access.read


def test_an_agent_makes_nothing_that_others_use() -> None:
    """Who may make a thing may delete it."""
    names = (
        "armillary",
        "armillary_replies",
        "armillary_cell_conductor",
        "compute_fanout",
        "compute",
    )
    configure = agent("a").access.configure
    assert [name for name in names if re.match(configure, name)] == []


def test_conductors_alone_make_what_all_roles_use() -> None:
    """Without the exchange of all topics nothing is asked or answered until services restart."""
    for name in ("armillary", "armillary_replies"):
        makers = [each for each in ALL if re.match(of(*each).access.configure, name)]
        assert makers == [("conductor", TOP), ("cell-conductor", CELL)]


@pytest.mark.parametrize(("role", "broker"), ALL, ids=lambda each: str(each))
@pytest.mark.parametrize("topic", ["versioned_notifications", "notifications"])
def test_no_account_forges_or_reads_notifications(role: str, broker: str, topic: str) -> None:
    """Neither by the exchange of all topics, nor by the queue's name; they are not signed."""
    found = of(role, broker)
    for level in ("info", "error"):
        queue = f"{topic}.{level}"
        for pattern in vars_of(found.access):
            assert re.match(pattern, queue) is None
            assert re.match(pattern, "amq.default") is None
        for write, bind in found.by_exchange.values():
            assert re.match(write, queue) is None
            assert re.match(bind, queue) is None
    for exchange in ("armillary", "armillary_replies"):
        if re.match(found.access.write, exchange):
            assert exchange in found.by_exchange  # else all keys would do


def test_events_that_people_follow_come_from_conductors_and_schedulers() -> None:
    """The API follows those of the top broker; on a cell's no account can make the feed."""
    writers = {
        role
        for role, broker in ALL
        if broker == TOP and re.match(of(role, TOP).access.write, event_feed.EXCHANGE)
    }
    assert writers == {"conductor", "scheduler", "cell-conductor"}
    makers = {
        (role, broker)
        for role, broker in ALL
        if re.match(of(role, broker).access.configure, event_feed.EXCHANGE)
    }
    assert makers == {("api", TOP)}


def test_an_account_of_a_host_asks_for_the_host() -> None:
    """One for all hosts would be an account that reads all queues."""
    with pytest.raises(exception.Invalid, match="host"):
        permissions("compute", CELL)
    with pytest.raises(exception.Invalid, match="the same everywhere"):
        permissions("api", TOP, scope="one")


def test_a_role_without_account_on_a_broker_is_refused() -> None:
    """An agent has none on the top broker."""
    with pytest.raises(exception.Invalid, match="cell"):
        permissions("compute", TOP, scope="a")


def test_names_of_accounts_may_begin_with_a_prefix() -> None:
    """Then answers go to the accounts with that prefix."""
    found = permissions("placement", TOP, prefix="west-")
    write, read = found.by_exchange["armillary_replies"]
    assert found.account == "west-placement"
    assert re.match(write, "replies_west-scheduler:a:b:0")
    assert not re.match(write, "replies_scheduler:a:b:0")
    assert re.match(read, "replies_west-placement:a:b:0")
