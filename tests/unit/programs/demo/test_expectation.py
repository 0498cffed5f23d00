"""Expectations of the demo."""

from __future__ import annotations

import pytest

from programs.demo.expectation import DemoFailed, expect


def test_what_is_as_it_should_be_is_passed_over() -> None:
    """Nothing happens."""
    expect(True, "x")


def test_what_is_not_is_said() -> None:
    """In the words given."""
    with pytest.raises(DemoFailed, match=r"^2 of 3 are there$"):
        expect(False, "2 of 3 are there")
