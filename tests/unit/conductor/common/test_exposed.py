"""Tests of the mark of methods that may be called."""

from __future__ import annotations

import pytest
from oslo_messaging.rpc.dispatcher import ExpectedException

from armillary import exception
from conductor.common.exposed import exposed


@exposed
def answer(error: Exception) -> None:
    """Raise what it is given."""
    raise error


def test_an_error_of_ours_is_an_answer() -> None:
    """oslo.messaging sends it without writing a traceback to the log."""
    with pytest.raises(ExpectedException):
        answer(exception.FlavorNotFound(flavor="f"))


def test_another_error_is_a_failure() -> None:
    """It is logged with its traceback."""
    with pytest.raises(RuntimeError):
        answer(RuntimeError("broken"))


def test_a_marked_method_keeps_its_name() -> None:
    """For logs, and for whoever reads them."""
    assert (answer.__name__, answer.__doc__) == ("answer", "Raise what it is given.")
