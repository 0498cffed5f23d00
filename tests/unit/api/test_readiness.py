"""Tests of readiness: what is missing, and how often it is asked for."""

from api.readiness import KEPT_SECONDS, Readiness
from armillary import exception
from tests.fixtures.cell import Clock
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient

AWAY = exception.RpcUnavailable(method="ping", topic="conductor", reason="MessageDeliveryFailure")


def test_many_probes_cost_one_question() -> None:
    """The result is kept for a moment."""
    client, clock = SuperConductorClient(SuperConductor()), Clock()
    readiness = Readiness(client, monotonic=clock)
    assert [readiness.missing() for _ in range(3)] == [None] * 3
    assert len(client.calls) == 1
    clock.advance(KEPT_SECONDS)
    readiness.missing()
    assert len(client.calls) == 2


def test_a_probe_finds_out_that_the_broker_is_back() -> None:
    """No other request comes to a process that is not ready."""
    conductor, clock = SuperConductor(), Clock()
    conductor.errors["ping"] = AWAY
    readiness = Readiness(SuperConductorClient(conductor), lambda: True, monotonic=clock)
    assert readiness.missing() == "message broker"
    del conductor.errors["ping"]
    clock.advance(KEPT_SECONDS)
    assert readiness.missing() is None


def test_a_message_that_cannot_be_sent_is_the_broker() -> None:
    """Its outage may just have begun."""
    conductor = SuperConductor()
    conductor.errors["ping"] = AWAY
    assert Readiness(SuperConductorClient(conductor)).missing() == "message broker"
