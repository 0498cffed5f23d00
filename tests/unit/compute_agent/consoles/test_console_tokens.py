"""One-time tokens."""

from compute_agent.consoles import console_tokens
from compute_agent.consoles.console_tokens import ConsoleTokens
from tests.fixtures.stand_ins.clock import Clock


def test_a_token_is_of_one_guest_and_valid_once() -> None:
    tokens = ConsoleTokens()
    first, second = tokens.issue("host", "one", 60), tokens.issue("host", "two", 60)
    assert (tokens.redeem(first), tokens.redeem(first)) == (("host", "one"), None)
    assert tokens.redeem(second) == ("host", "two")


def test_a_token_ends_with_its_time() -> None:
    clock = Clock(0.0)
    tokens = ConsoleTokens(clock)
    token = tokens.issue("host", "one", 60)
    clock.now = 60
    assert tokens.redeem(token) is None


def test_no_more_tokens_are_kept_than_a_maximum() -> None:
    """The oldest goes first."""
    tokens = ConsoleTokens()
    first = tokens.issue("host", "one", 60)
    others = [tokens.issue("host", f"other{n}", 60) for n in range(console_tokens.TOKENS_MAX)]
    assert tokens.redeem(first) is None
    assert tokens.redeem(others[0]) == ("host", "other0")


def test_who_asks_for_many_voids_those_of_no_other() -> None:
    """Only the oldest ones of the same guest."""
    tokens = ConsoleTokens()
    first = tokens.issue("host", "one", 60)
    others = [tokens.issue("host", "two", 60) for _ in range(console_tokens.TOKENS_MAX)]
    assert tokens.redeem(others[0]) is None
    assert tokens.redeem(others[-1]) == ("host", "two")
    assert tokens.redeem(first) == ("host", "one")
