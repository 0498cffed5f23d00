"""Operations that are begun again after libvirt's daemon was lost in their middle."""

import types
from typing import Any, cast

import pytest

from armillary import exception
from compute_agent.virt.libvirt.connection import Connection
from compute_agent.virt.libvirt.daemon_restarts import TIMES_MAX, outcome_known, repeated


class Driver:
    """A driver whose operation fails as often as it is told, with a lost daemon or not."""

    def __init__(self, *, failures: int, is_lost: bool = True, returns: bool = True) -> None:
        self.times = 0
        self._failures = failures
        daemon = types.SimpleNamespace(
            number=1, is_lost=lambda _number: is_lost, returns=lambda _seconds: returns
        )
        self.daemon = cast("Connection", daemon)

    @repeated
    def move(self, uuid: str) -> str:
        with outcome_known(self.daemon):
            return self.operate(uuid, way="away")

    @repeated
    def operate(self, uuid: str, *, way: str) -> str:
        self.times += 1
        if self.times <= self._failures:
            raise exception.OperationFailed(
                operation=way, instance_uuid=uuid, host="a", reason="reset by peer"
            )
        return f"{uuid} {way}"


def test_an_operation_that_lost_its_daemon_is_begun_again() -> None:
    driver = Driver(failures=TIMES_MAX - 1)
    assert driver.operate("1", way="up") == "1 up"
    assert driver.times == TIMES_MAX


@pytest.mark.parametrize(
    ("about", "times"),
    [
        pytest.param({"failures": 99}, TIMES_MAX, id="lost-each-time"),
        pytest.param({"failures": 1, "returns": False}, 1, id="stays-away"),
        pytest.param({"failures": 1, "is_lost": False}, 1, id="failed-by-itself"),
    ],
)
def test_an_operation_fails_in_the_end_with_its_own_reason(
    about: dict[str, Any], times: int
) -> None:
    driver = Driver(**about)
    with pytest.raises(exception.OperationFailed, match="reset by peer"):
        driver.operate("1", way="up")
    assert driver.times == times


@pytest.mark.parametrize(
    ("about", "error"),
    [
        pytest.param({"returns": False}, exception.Unavailable, id="stays-away"),
        pytest.param({}, exception.Unavailable, id="lost-each-time"),
        pytest.param({"is_lost": False}, exception.OperationFailed, id="failed-by-itself"),
    ],
)
def test_an_operation_without_its_daemon_has_no_known_outcome(
    about: dict[str, Any], error: type[Exception]
) -> None:
    """It may have succeeded, so it must not count as failed."""
    driver = Driver(failures=99, **about)
    with pytest.raises(error, match="reset by peer"):
        driver.move("1")
