"""Whatever a plugin does wrong costs one request its host, with the reason, and nothing else."""

import io
import logging
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

from armillary import exception
from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.drivers.filter_scheduler import FilterScheduler
from scheduler.filters import BaseHostFilter
from scheduler.request_filters import BaseRequestFilter
from scheduler.weights import BaseHostWeigher
from tests.fleets import (
    ArrayPlacement,
    a_driver,
    a_group,
    a_request_spec,
    scheduling_conf,
    some_hosts,
)
from tests.unit.scheduler.drivers.drivers import select

HERE = "tests.unit.scheduler.test_faulty_plugins"
FAULTY = {"flavor_is": "faulty"}


def fail() -> Any:
    raise ZeroDivisionError("by design")


class FaultyFilter(BaseHostFilter):
    """Breaks in one method, for requests that ask for it."""

    faults: ClassVar[dict[str, Callable[[], Any]]] = {}

    def _or(self, method: str, spec: RequestSpec, answer: Any) -> Any:
        fault = self.faults.get(method) if spec.flavor.extra_specs == FAULTY else None
        return fault() if fault else answer

    def host_passes(self, host_state: Any, spec: RequestSpec) -> bool:
        return self._or("host_passes", spec, True)

    def explain(self, host_state: Any, spec: RequestSpec) -> str | None:
        return self._or("explain", spec, None)

    def sets_limits_for(self, spec: RequestSpec) -> bool:
        return self._or("sets_limits_for", spec, True)

    def limits(self, host_state: Any, spec: RequestSpec) -> dict[str, Any]:
        return self._or("limits", spec, {})


class FaultyMaskFilter(FaultyFilter):
    def host_mask(self, hosts: Any, spec: RequestSpec) -> Any:
        return self._or("host_mask", spec, np.ones(len(hosts), dtype=bool))


class FaultyWeigher(BaseHostWeigher):
    """The same for a weigher."""

    faults: ClassVar[dict[str, Callable[[], Any]]] = {}
    spec: RequestSpec | None = None

    def _or(self, method: str, answer: Any) -> Any:
        fault = self.faults.get(method)
        return fault() if fault and self.spec.flavor.extra_specs == FAULTY else answer  # type: ignore[union-attr]

    def applies_to(self, spec: RequestSpec) -> bool:
        self.spec = spec
        return self._or("applies_to", True)

    def multipliers(self, hosts: Any) -> Any:
        return self._or("multipliers", np.ones(len(hosts)))

    def host_weight(self, host_state: Any, spec: RequestSpec) -> float:
        return self._or("host_weight", 1.0)

    def host_weights(self, hosts: Any, spec: RequestSpec) -> Any:
        return self._or("host_weights", np.arange(len(hosts), dtype=float))


class FaultyRequestFilter(BaseRequestFilter):
    def apply(self, spec: RequestSpec, cluster_metadata: object) -> None:
        if spec.flavor.extra_specs == FAULTY:
            fail()


def driver_with(**conf: Any) -> tuple[FilterScheduler, ArrayPlacement]:
    hosts = some_hosts(3)
    placement = ArrayPlacement(hosts)
    return a_driver(hosts, placement=placement, conf=scheduling_conf(**conf)), placement


def assert_costs_one_request(reason: str, count: int = 2, **conf: Any) -> None:
    driver, placement = driver_with(**conf)
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger("scheduler").addHandler(handler)
    try:
        with pytest.raises(exception.NoValidHost) as caught:
            select(driver, a_request_spec(FAULTY), count)
    finally:
        logging.getLogger("scheduler").removeHandler(handler)
    assert reason in log.getvalue()
    assert caught.value.kwargs["reason"].endswith(" failed; the scheduler's log says why.")
    assert placement.consumers == {}
    assert len(select(driver, a_request_spec(), count).selections()) == count


@pytest.mark.parametrize(
    ("method", "fault", "reason"),
    [
        ("host_passes", fail, "FaultyFilter failed: ZeroDivisionError: by design"),
        ("host_passes", lambda: "no", "FaultyFilter failed: TypeError: host_passes returned 'no'"),
        ("host_passes", lambda: None, "host_passes returned None, expected True or False"),
        ("sets_limits_for", fail, "FaultyFilter failed: ZeroDivisionError"),
        ("limits", fail, "FaultyFilter failed: ZeroDivisionError"),
        ("limits", lambda: {"memory_mb": "much"}, "FaultyFilter failed: ValueError"),
        (
            "limits",
            lambda: {"colour": 1},
            "FaultyFilter failed: limits returned unknown limit colour",
        ),
        ("limits", lambda: 7, "FaultyFilter failed: TypeError"),
    ],
)
def test_a_faulty_filter(
    method: str, fault: Callable[[], Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what it raises, and by answers that are none."""
    monkeypatch.setattr(FaultyFilter, "faults", {method: fault})
    assert_costs_one_request(reason, filter_scheduler__enabled_filters=[f"{HERE}:FaultyFilter"])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (fail, "failed: ZeroDivisionError"),
        (lambda: np.ones(7, dtype=bool), "failed: host_mask returned shape (7,) for 3 hosts"),
        (lambda: True, "failed: host_mask returned shape () for 3 hosts"),
        (lambda: [0.0, float("nan"), 1.0], "failed: host_mask returned float64, expected booleans"),
        (lambda: ["yes", "no", "no"], "expected booleans"),
        (lambda: [True, None, False], "expected booleans"),
    ],
)
def test_a_faulty_mask(
    answer: Callable[[], Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What looks like an answer is checked to be one."""
    monkeypatch.setattr(FaultyMaskFilter, "faults", {"host_mask": answer})
    enabled = [f"{HERE}:FaultyMaskFilter"]
    assert_costs_one_request(
        f"FaultyMaskFilter {reason}" if reason.startswith("failed") else reason,
        filter_scheduler__enabled_filters=enabled,
    )


def test_a_filter_that_breaks_for_the_second_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    """When it is asked about one host again."""
    monkeypatch.setattr(FaultyMaskFilter, "faults", {"host_passes": fail})
    assert_costs_one_request(
        "FaultyMaskFilter failed", filter_scheduler__enabled_filters=[f"{HERE}:FaultyMaskFilter"]
    )


def test_a_filter_that_breaks_after_a_claim_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """All hosts are asked about again, for a server group; what was claimed is released."""
    driver, placement = driver_with(filter_scheduler__enabled_filters=[f"{HERE}:FaultyMaskFilter"])
    monkeypatch.setattr(
        FaultyMaskFilter,
        "faults",
        {"host_mask": lambda: fail() if placement.claim_calls else np.ones(3, dtype=bool)},
    )
    placement.refusals[placement.uuids[0]] = 1  # one of the two that this driver takes first
    spec = a_request_spec(FAULTY, instance_group=a_group("soft-anti-affinity"))
    with pytest.raises(exception.NoValidHost, match="FaultyMaskFilter failed"):
        select(driver, spec, 2)
    assert len(placement.claim_calls) == 1
    assert placement.consumers == {}


@pytest.mark.parametrize("fault", [fail, lambda: 7], ids=["raises", "no text"])
def test_a_faulty_explanation(fault: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a host that does not pass."""
    monkeypatch.setattr(FaultyFilter, "faults", {"host_passes": lambda: False, "explain": fault})
    assert_costs_one_request(
        "FaultyFilter failed", filter_scheduler__enabled_filters=[f"{HERE}:FaultyFilter"]
    )


@pytest.mark.parametrize(
    ("method", "fault", "reason"),
    [
        ("applies_to", fail, "ZeroDivisionError: by design"),
        ("multipliers", fail, "ZeroDivisionError: by design"),
        ("multipliers", lambda: np.ones(7), "multipliers returned shape (7,) for 3 hosts"),
        ("multipliers", lambda: [1.0, 2.0, float("inf")], "a multiplier is not a finite number"),
        ("multipliers", lambda: "much", "ValueError"),
        ("host_weights", fail, "ZeroDivisionError: by design"),
        ("host_weights", lambda: np.ones((3, 3)), "host_weights returned shape (3, 3) for 3 hosts"),
        ("host_weights", lambda: [1.0, float("nan"), 2.0], "a weight is not a finite number"),
        ("host_weights", lambda: ["a", "b", "c"], "ValueError"),
        ("host_weight", lambda: float("inf"), "a weight is not a finite number"),
        ("host_weight", lambda: "much", "ValueError"),
    ],
)
def test_a_faulty_weigher(
    method: str, fault: Callable[[], Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the first weighing, or for the second instance."""
    monkeypatch.setattr(FaultyWeigher, "faults", {method: fault})
    assert_costs_one_request(
        f"FaultyWeigher failed: {reason}",
        filter_scheduler__weight_classes=[f"{HERE}:FaultyWeigher"],
    )


def test_a_faulty_request_filter() -> None:
    """Before placement is asked."""
    assert_costs_one_request(
        "FaultyRequestFilter failed: ZeroDivisionError",
        scheduler__request_filters=[f"{HERE}:FaultyRequestFilter"],
    )


class WordyWeigher(BaseHostWeigher):
    def multiplier(self) -> Any:
        return "much"


class EndlessWeigher(BaseHostWeigher):
    def multiplier(self) -> float:
        return float("inf")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("WordyWeigher", "the multiplier of WordyWeigher, is not a number: could not convert"),
        ("EndlessWeigher", "the multiplier of EndlessWeigher, is inf; it must be within"),
    ],
)
def test_a_multiplier_that_is_not_a_number_stops_the_start(name: str, message: str) -> None:
    """The operator sees which."""
    conf = scheduling_conf(filter_scheduler__weight_classes=[f"{HERE}:{name}"])
    with pytest.raises(exception.ConfigurationError, match=message):
        weights.load_weighers(conf)
