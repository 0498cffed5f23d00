"""Expectations of the demo, and the error for an unmet one."""

from __future__ import annotations

from armillary import exception


class DemoFailed(exception.ArmillaryError):
    """An expectation of the demo was not met."""

    template = "%(reason)s"


def expect(condition: bool, reason: str) -> None:
    """Raise ``DemoFailed`` unless the condition holds."""
    if not condition:
        raise DemoFailed(reason=reason)
