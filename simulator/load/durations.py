"""Durations: fixed, random, or endless."""

import math
import random
from dataclasses import dataclass
from typing import Any

from simulator.scenario.scenario_errors import Place, ScenarioError, found

FOREVER = "forever"
SECONDS_MAX = 1e9
ALLOWED = (
    "a number of seconds from 0 to 1e9, {fixed: S}, {exponential: MEAN} or {uniform: [FROM, TO]}"
)


@dataclass(frozen=True, slots=True)
class Duration:
    """A distribution of seconds; ``high`` is used by ``uniform`` only."""

    kind: str
    low: float
    high: float = 0.0

    def draw(self, rng: random.Random) -> float:
        """Return a duration in seconds; infinite for an endless one."""
        if self.kind == "exponential":
            return rng.expovariate(1 / self.low) if self.low else 0.0
        if self.kind == "uniform":
            return rng.uniform(self.low, self.high)
        return self.low


ENDLESS = Duration("fixed", math.inf)
AT_ONCE = Duration("fixed", 0.0)


def parse_duration(value: Any, place: Place, *, may_be_endless: bool = False) -> Duration:
    """Parse a duration of the document. Raises ``ScenarioError``."""
    if value == FOREVER and may_be_endless:
        return ENDLESS
    if _is_seconds(value):
        return Duration("fixed", float(value))
    if isinstance(value, dict) and len(value) == 1:
        ((kind, given),) = value.items()
        if kind in ("fixed", "exponential") and _is_seconds(given):
            return Duration(kind, float(given))
        if kind == "uniform" and _is_range(given):
            return Duration(kind, float(given[0]), float(given[1]))
    allowed = f"{ALLOWED}, or {FOREVER}" if may_be_endless else ALLOWED
    raise ScenarioError(place, f"found {found(value)}; allowed is {allowed}")


def _is_seconds(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value <= SECONDS_MAX


def _is_range(value: Any) -> bool:
    is_pair = isinstance(value, list) and len(value) == 2 and all(map(_is_seconds, value))
    return is_pair and value[0] <= value[1]
