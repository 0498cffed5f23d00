"""What the demo expects of Armillary, and how it says that something came out otherwise."""

from __future__ import annotations

from armillary import exception


class DemoFailed(exception.ArmillaryError):
    """Something came out otherwise than it should."""

    template = "%(reason)s"


def expect(condition: bool, reason: str) -> None:
    """Raise ``DemoFailed`` unless it is so."""
    if not condition:
        raise DemoFailed(reason=reason)
