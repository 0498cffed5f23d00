"""Objects whose newest fields are rarely used travel as the version before without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from objects.base import ArmillaryObject
from objects.destinations import Destinations
from objects.minimal_version import MinimalVersion
from objects.request_spec import Destination
from objects.traces.decision_trace import DecisionTrace
from tests.builders import a_uuid

_VERSION = ArmillaryObject.primitive_key("version")
_DATA = ArmillaryObject.primitive_key("data")


def a_destination(**values: Any) -> Destination:
    return Destination.from_values(host="a", **values)


def some_destinations(**values: Any) -> Destinations:
    trace = DecisionTrace.from_values()
    choices = np.zeros((1, 0), dtype=np.int64)
    return Destinations.from_values(choices=choices, trace=trace, **values)


CASES = [
    pytest.param(a_destination(), "1.1", id="destination"),
    pytest.param(a_destination(own_zone_only=True), "1.2", id="destination-own-zone"),
    pytest.param(a_destination(node_uuid=a_uuid()), "1.2", id="destination-node"),
    pytest.param(some_destinations(), "1.0", id="destinations"),
    pytest.param(
        some_destinations(zone_entries=[{"host_id": "h", "path": ["eu"]}]), "1.1", id="entries"
    ),
    pytest.param(DecisionTrace.from_values(), "1.1", id="trace"),
    pytest.param(DecisionTrace.from_values(zones=[{"path": []}]), "1.2", id="trace-zones"),
]


@pytest.mark.parametrize(("thing", "version"), CASES)
def test_the_least_version_that_says_all_is_sent(thing: MinimalVersion, version: str) -> None:
    """So that older peers read what concerns no zone as ever."""
    sent = thing.obj_to_primitive()
    assert sent[_VERSION] == version
    assert bool(set(sent[_DATA]) & set(thing.NEWEST_FIELDS)) is (version == type(thing).VERSION)


@pytest.mark.parametrize(("thing", "version"), CASES)
def test_nothing_is_lost_on_the_way(thing: MinimalVersion, version: str) -> None:
    """What was left out is there with its default."""
    received = ArmillaryObject.obj_from_primitive(thing.obj_to_primitive())
    assert received.to_plain() == thing.to_plain()


@pytest.mark.parametrize(("thing", "version"), CASES)
def test_what_was_received_can_be_sent_on(thing: MinimalVersion, version: str) -> None:
    """Changed, too: a field that is used by then goes along."""
    received = ArmillaryObject.obj_from_primitive(thing.obj_to_primitive())
    again = ArmillaryObject.obj_from_primitive(received.obj_to_primitive())
    assert again.to_plain() == thing.to_plain()


@pytest.mark.parametrize(("thing", "version"), CASES)
def test_the_first_version_can_be_asked_for(thing: MinimalVersion, version: str) -> None:
    """By a peer that knows nothing newer."""
    sent = thing.obj_to_primitive("1.0", {"DecisionTrace": "1.0", "Destinations": "1.0"})
    assert sent[_VERSION] == "1.0"
    assert not set(sent[_DATA]) & set(thing.NEWEST_FIELDS)


def test_what_was_changed_is_still_known_to_be() -> None:
    """An object to be saved travels so, too; what was set by default is no change."""
    sent = a_destination()
    sent.node = "b"
    received = ArmillaryObject.obj_from_primitive(sent.obj_to_primitive())
    assert received.obj_what_changed() == {"node"}
