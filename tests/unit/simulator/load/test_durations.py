"""How long something takes, as scenarios say it."""

import math
import random
from typing import Any

import pytest

from simulator.load.durations import Duration, parse_duration
from simulator.scenario.scenario_errors import ScenarioError


@pytest.mark.parametrize(
    ("value", "duration"),
    [
        (5, Duration("fixed", 5.0)),
        (0, Duration("fixed", 0.0)),
        ({"fixed": 1.5}, Duration("fixed", 1.5)),
        ({"exponential": 60}, Duration("exponential", 60.0)),
        ({"uniform": [1, 2]}, Duration("uniform", 1.0, 2.0)),
        ("forever", Duration("fixed", math.inf)),
    ],
    ids=repr,
)
def test_durations_are_read(value: Any, duration: Duration) -> None:
    """In each of their forms."""
    assert parse_duration(value, ("x",), may_be_endless=True) == duration


@pytest.mark.parametrize(
    "value",
    [-1, 2e9, True, "soon", {}, {"fixed": 1, "uniform": [1, 2]}, {"uniform": [2, 1]},
     {"uniform": [1]}, {"normal": 3}, {"exponential": "60"}, None],
    ids=repr,
)  # fmt: skip
def test_what_is_not_a_duration_is_refused(value: Any) -> None:
    """With what was found and what is allowed."""
    with pytest.raises(ScenarioError, match=r"found .*allowed is a number of seconds"):
        parse_duration(value, ("x",), may_be_endless=True)


def test_forever_is_for_what_may_last_so_long() -> None:
    """A build that never ends does not count."""
    with pytest.raises(ScenarioError):
        parse_duration("forever", ("x",))


@pytest.mark.parametrize(
    ("duration", "mean"),
    [
        (Duration("fixed", 3.0), 3.0),
        (Duration("exponential", 3.0), 3.0),
        (Duration("uniform", 2.0, 4.0), 3.0),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_draws_have_the_mean_that_was_asked_for(duration: Duration, mean: float) -> None:
    """Over many of them."""
    rng = random.Random(1)
    draws = [duration.draw(rng) for _ in range(20_000)]
    assert sum(draws) / len(draws) == pytest.approx(mean, rel=0.03)


def test_an_exponential_duration_of_nothing_is_nothing() -> None:
    """And no division by zero."""
    assert Duration("exponential", 0.0).draw(random.Random(1)) == 0.0
