"""Levels of hosts are kept, asked for beside decisions, and waited for no longer than a bound."""

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from scheduler.hosts.attestation_cache import AskFailed, Attestations
from tests.fleets import Clock, scheduling_conf


class Service:
    """Answers when it is let; remembers what it was asked."""

    def __init__(self, levels: dict[str, str]) -> None:
        self.levels = levels
        self.asked: list[list[str]] = []
        self.is_down = False
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.answered = threading.Semaphore(0)

    def __call__(self, nodes: Sequence[str]) -> dict[str, str]:
        self.asked.append(sorted(nodes))
        assert self.may_answer.wait(10)
        try:
            if self.is_down:
                raise AskFailed("it is down")
            return {node: self.levels[node] for node in nodes if node in self.levels}
        finally:
            self.answered.release()


@pytest.fixture
def service() -> Service:
    return Service({"node1": "trusted", "node2": "untrusted"})


@pytest.fixture
def clock() -> Clock:
    return Clock()


def kept(service: Service, clock: Clock, **options: Any) -> Attestations:
    values = {f"trusted_computing__{name}": value for name, value in options.items()}
    values.setdefault("trusted_computing__attestation_wait_seconds", 5.0)
    return Attestations(scheduling_conf(**values), ask=service, clock=clock)


def test_all_nodes_are_asked_for_together_and_kept(service: Service, clock: Clock) -> None:
    """What the service does not know is unknown, for as long."""
    attestations = kept(service, clock)
    for _ in range(3):
        assert attestations.levels(["node1", "node2", "node3"]) == {
            "node1": "trusted",
            "node2": "untrusted",
            "node3": "unknown",
        }
    assert service.asked == [["node1", "node2", "node3"]]


def test_after_its_time_a_level_is_asked_for_again(service: Service, clock: Clock) -> None:
    """And waited for: it may be another."""
    attestations = kept(service, clock, attestation_auth_timeout=60)
    attestations.levels(["node1"])
    service.levels["node1"] = "untrusted"
    clock.seconds += 60
    assert attestations.levels(["node1"]) == {"node1": "untrusted"}


def test_past_half_its_time_a_level_is_asked_for_ahead(service: Service, clock: Clock) -> None:
    """No decision waits for that: it goes by what is kept."""
    attestations = kept(service, clock, attestation_auth_timeout=60)
    attestations.levels(["node1"])
    clock.seconds += 30
    attestations.levels(["node1"])
    assert len(service.asked) == 1
    clock.seconds += 1
    service.may_answer.clear()
    assert attestations.levels(["node1"]) == {"node1": "trusted"}
    service.may_answer.set()
    for _ in range(2):
        assert service.answered.acquire(timeout=10)
    assert len(service.asked) == 2


def test_a_decision_waits_no_longer_than_the_bound(service: Service, clock: Clock) -> None:
    """What comes later is there for the next one, which asks no second time."""
    service.may_answer.clear()
    attestations = kept(service, clock, attestation_wait_seconds=0.01)
    assert attestations.levels(["node1"]) == {"node1": "unknown"}
    assert attestations.levels(["node1"]) == {"node1": "unknown"}
    service.may_answer.set()
    assert service.answered.acquire(timeout=10)
    patient = threading.Event()
    for _ in range(1000):
        if attestations.levels(["node1"]) == {"node1": "trusted"}:
            break
        patient.wait(0.001)  # the worker writes it down just now
    assert attestations.levels(["node1"]) == {"node1": "trusted"}
    assert service.asked == [["node1"]]


def test_a_failure_is_unknown_and_not_repeated_immediately(
    service: Service, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """The service is left alone for five seconds."""
    service.is_down = True
    attestations = kept(service, clock)
    assert attestations.levels(["node1", "node2"]) == {"node1": "unknown", "node2": "unknown"}
    service.is_down = False
    clock.seconds += 2
    assert attestations.levels(["node1"]) == {"node1": "unknown"}
    assert "Attestation levels of 2 hosts are unknown: it is down" in caplog.text
    clock.seconds += 3
    assert attestations.levels(["node1"]) == {"node1": "trusted"}


def test_many_nodes_are_asked_for_in_parts(service: Service, clock: Clock) -> None:
    """So that no call is without a bound."""
    nodes = [f"host{number}" for number in range(1200)]
    service.levels = dict.fromkeys(nodes, "trusted")
    assert set(kept(service, clock).levels(nodes).values()) == {"trusted"}
    assert sorted(len(part) for part in service.asked) == [200, 500, 500]


def test_a_defect_in_asking_leaves_nodes_unknown_and_asks_again(clock: Clock) -> None:
    """No decision waits for an answer that never comes."""
    asked = []

    def ask(nodes: Sequence[str]) -> dict[str, str]:
        asked.append(nodes)
        raise ZeroDivisionError

    attestations = kept(ask, clock, attestation_auth_timeout=60)  # type: ignore[arg-type]
    assert attestations.levels(["node1"]) == {"node1": "unknown"}
    clock.seconds += 60
    assert attestations.levels(["node1"]) == {"node1": "unknown"}
    assert len(asked) == 2
