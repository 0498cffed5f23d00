"""Names and what they count, from an option."""

import logging

import pytest

from scheduler.plugins.weight_setting import WeightSetting


def test_items_are_names_and_numbers() -> None:
    """Of two with the same name the last counts."""
    assert WeightSetting("x").parsed(["a=1", " b = -2.5 ", "a=3", "c.d=0"]) == {
        "a": 3.0,
        "b": -2.5,
        "c.d": 0.0,
    }


@pytest.mark.parametrize("item", ["a", "a=", "=1", "a=one", "a=nan", "a=inf", ""])
def test_an_item_that_cannot_be_read_is_left_out(
    item: str, caplog: pytest.LogCaptureFixture
) -> None:
    """With one warning, however often it is read."""
    setting = WeightSetting("[metrics] weight_setting")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert setting.parsed([item, "b=1"]) == {"b": 1.0}
    assert [record.getMessage() for record in caplog.records] == [
        f"[metrics] weight_setting: {item!r} is not NAME=NUMBER and is ignored"
    ]


def test_a_changed_option_is_read_again() -> None:
    """While the service runs."""
    setting = WeightSetting("x")
    assert setting.parsed(["a=1"]) == {"a": 1.0}
    assert setting.parsed(["a=2"]) == {"a": 2.0}
    assert setting.parsed([]) == {}
