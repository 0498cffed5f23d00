"""Plain arguments of messages: of the declared types, or refused."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from armillary import exception
from rpc.wire.argument_types import argument_check, fits_of
from tests.fixtures.messages.interfaces import BY_TOPIC


@pytest.mark.parametrize(
    ("hint", "value", "fits"),
    [
        (str, "a", True), (str, 1, False), (str, None, False), (str, ["a"], False),
        (int, 7, True), (int, "7", False), (int, 2**63, False), (int, 1.5, False),
        (float, 1, True), (float, 1.5, True), (float, "1.5", False),
        (bool, True, True), (bool, 1, False), (bool, None, False),
        (str | None, None, True), (str | None, 1, False),
        (Sequence[str], ["a"], True), (Sequence[str], "a", False), (Sequence[str], [["a"]], False),
        (dict[str, int], {"a": 1}, True), (dict[str, int], {"a": "1"}, False),
        (Mapping[str, Sequence[str]], {"a": ["b"]}, True),
        (Mapping[str, Sequence[str]], {"a": "b"}, False),
        (Mapping[str, float] | None, [], False),
        (Any, object(), True),
    ],
)  # fmt: skip
def test_a_value_fits_its_type(hint: Any, value: Any, fits: bool) -> None:
    assert fits_of(hint)(value) is fits


@pytest.mark.parametrize(
    "arguments",
    [{}, {"host": "a", "lines": 1, "more": 1}, {"host": ["a"]}, {"host": "a", "lines": "all"}],
    ids=["missing", "undeclared", "wrong", "wrong-optional"],
)
def test_arguments_that_are_not_as_declared_are_refused(arguments: dict[str, Any]) -> None:
    """With a sentence for the caller, and nothing in the log."""
    check = argument_check({"host": str, "lines": int | None}, frozenset({"host"}))
    check({"host": "a", "lines": None})
    check({"host": "a"})
    with pytest.raises(exception.Invalid):
        check(arguments)


def test_each_plain_argument_of_ours_is_checked() -> None:
    """No declaration names a type that is not understood."""
    unchecked = {
        (interface.TOPIC, method.name, name)
        for interface in BY_TOPIC.values()
        for method in interface.METHODS.values()
        for name, hint in method.sent_hints(interface.ADDRESSED_BY).items()
        if hint is not Any and fits_of(hint)(object())
    }
    assert not unchecked
