"""Tests of backoffs: how long retries wait."""

import pytest

from armillary.backoff import Backoff, KeyedBackoff
from tests.fixtures.stand_ins.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keyed(clock: Clock) -> KeyedBackoff[str]:
    return KeyedBackoff(Backoff(1.0, 30.0), clock, forget_seconds=600.0)


def test_delays_grow_to_the_bound() -> None:
    """Each is twice the one before, unless the bound is lower."""
    assert [Backoff(1.0, 5.0).seconds(n) for n in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]


def test_another_factor_is_used() -> None:
    """Polling grows slower than retries."""
    assert Backoff(1.0, 60.0, factor=1.5).seconds(2) == 2.25


def test_the_first_delay_is_bounded_too() -> None:
    """An operator may set a first delay above the bound."""
    assert Backoff(60.0, 30.0).seconds(0) == 30.0


def test_very_many_retries_do_not_overflow() -> None:
    """A peer may be away for weeks."""
    assert Backoff(1.0, 30.0).seconds(1_000_000) == 30.0


@pytest.mark.parametrize(("drawn", "expected"), [(0.0, 4.0), (0.5, 3.0), (1.0, 2.0)])
def test_jitter_shortens_delays_by_a_random_part(drawn: float, expected: float) -> None:
    """By at most the share that is given."""
    assert Backoff(1.0, 30.0, jitter=0.5, draw=lambda: drawn).seconds(2) == expected


def test_each_key_has_its_own_backoff(keyed: KeyedBackoff[str]) -> None:
    """Failures of one do not delay another."""
    assert [keyed.add("a"), keyed.add("a"), keyed.add("b")] == [1.0, 2.0, 1.0]
    assert keyed.waiting() == {"a": 2.0, "b": 1.0}


def test_a_due_key_no_longer_waits(keyed: KeyedBackoff[str], clock: Clock) -> None:
    """Its next failure waits longer."""
    keyed.add("a")
    clock.now += 1.0
    assert keyed.waiting() == {}
    assert keyed.add("a") == 2.0


def test_due_keys_are_taken_once(keyed: KeyedBackoff[str], clock: Clock) -> None:
    """The taker adds those that fail again."""
    keyed.add("a")
    assert keyed.take_due() == []
    clock.now += 1.0
    assert keyed.take_due() == ["a"]
    assert keyed.take_due() == []
    assert keyed.add("a") == 2.0


def test_a_forgotten_key_starts_again(keyed: KeyedBackoff[str]) -> None:
    """It succeeded, or its user asks for it."""
    keyed.add("a")
    keyed.forget("a")
    assert keyed.waiting() == {}
    assert keyed.add("a") == 1.0


def test_keys_that_fail_no_more_are_forgotten(keyed: KeyedBackoff[str], clock: Clock) -> None:
    """Else the backoffs of keys that no longer exist would pile up."""
    keyed.add("a")
    clock.now += 602.0
    keyed.add("b")
    assert keyed.add("a") == 1.0


def test_a_clock_that_is_set_back_delays_nothing(keyed: KeyedBackoff[str], clock: Clock) -> None:
    """Clocks of hosts are corrected at times."""
    keyed.add("a")
    clock.now -= 3600.0
    assert keyed.take_due() == ["a"]
