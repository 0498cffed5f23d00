"""Time that is pretended to pass, and failures that are asked for: the same again each time."""

import pytest

from armillary import exception
from compute_agent.virt.simulated.simulated_delays import (
    SimulatedDelays,
    check_patterns,
    is_failing,
)
from tests.fixtures.agent.simulated import SimulatedHosts


@pytest.mark.parametrize(
    ("pattern", "is_hit"),
    [
        ("attach", True),
        ("*", True),
        ("att*", True),
        ("detach", False),
        ("cell1-*:attach", True),
        ("cell1-07:*", True),
        ("cell2-*:attach", False),
        ("cell1-*:detach", False),
    ],
)
def test_a_pattern_names_an_operation_and_perhaps_hosts(pattern: str, is_hit: bool) -> None:
    """Each part as in a shell."""
    assert is_failing(["nothing", pattern], "cell1-07", "attach") is is_hit


@pytest.mark.parametrize("pattern", ["atach", "attach:cell1", "cell1:"])
def test_a_pattern_that_matches_no_operation_stops_the_agent(pattern: str) -> None:
    """With those that there are."""
    check_patterns(["attach", "cell1-*:power_*"])
    with pytest.raises(exception.ConfigurationError, match=r"unknown operation .* attach"):
        check_patterns([pattern])


def test_an_operation_takes_as_long_as_it_should(simulated: SimulatedHosts) -> None:
    """Between the bounds, of its own for each host, instance and operation; the same again."""
    simulated.set_options(operation_delay_seconds_min=2.0, operation_delay_seconds_max=3.0)
    for host, uuid, operation in (
        ("a", "1", "reboot"), ("a", "1", "attach"), ("a", "2", "reboot"), ("b", "1", "reboot"),
        ("a", "1", "reboot"),
    ):  # fmt: skip
        SimulatedDelays(simulated.conf, host, simulated.slept.append).operation(operation, uuid)
    *different, again = simulated.slept
    assert len(set(different)) == 4
    assert all(2.0 <= seconds <= 3.0 for seconds in different)
    assert again == different[0]
