"""Fence: the place of a write to placement in the order of all writes for its consumer."""

import dataclasses
import enum
from typing import Any, Self, TypeVar

T = TypeVar("T", bound=Any)

_STEPS = 1000
"""Number of steps of an attempt or operation in the integer form."""
_BUILDS = 10_000
"""Number of the first operation in the integer form; attempts at a build have lower numbers."""

FENCE_FINAL = 2**31 - 1
"""The fence of a consumer that is being deleted: no claim is accepted after it."""

_TRY_STEPS = 2


class Phase(enum.IntEnum):
    """What a write belongs to."""

    BUILD = 0
    OPERATION = 1


class FenceStep(enum.IntEnum):
    """Steps of an operation, in the order of its writes.

    Those between ``HOLD`` and ``ALTERNATE`` belong to the super conductor's tries to find a host.
    Those from ``ALTERNATE`` on belong to the cell's claims, at most two for each host.
    """

    HOLD = 0
    FREE = 1
    ALTERNATE = 690
    GIVE_BACK = 900
    AT_REST = _STEPS - 1


TRIES_MAX = (FenceStep.ALTERNATE - 1) // _TRY_STEPS
"""Maximum number of tries of an operation to find a host that have fences of their own."""


@dataclasses.dataclass(frozen=True, order=True)
class Fence:
    """A fence in its parts; ``int()`` returns the form on the wire and in databases.

    Placement refuses a write with a lower fence than it has seen for the consumer. ``number`` is
    that of the attempt at the build, which counts the super conductors that took the request, or
    that of the operation. ``step`` orders the writes of one attempt or operation.
    """

    phase: Phase
    number: int
    step: int = 0

    @classmethod
    def of_build(cls, attempt: int) -> Self:
        """Return the first fence of an attempt at a build."""
        return cls(Phase.BUILD, attempt)

    @classmethod
    def of_operation(cls, number: int) -> Self:
        """Return the first fence of one of an instance's operations."""
        return cls(Phase.OPERATION, number, FenceStep.HOLD)

    @classmethod
    def at_rest(cls, operations_total: int) -> Self:
        """Return the fence of a write for an instance without a running operation.

        It is above all of the instance's operations so far, and below those of its next one.
        """
        return cls(Phase.OPERATION, operations_total, FenceStep.AT_REST)

    @classmethod
    def from_int(cls, fence: int) -> Self:
        """Return the parts of a fence."""
        number, step = divmod(fence, _STEPS)
        if number < _BUILDS:
            return cls(Phase.BUILD, number, step)
        return cls(Phase.OPERATION, number - _BUILDS, step)

    def __int__(self) -> int:
        assert 0 <= self.step < _STEPS, f"{self} is beyond its attempt or operation"
        first = _BUILDS if self.phase == Phase.OPERATION else 0
        return (first + self.number) * _STEPS + self.step

    def at(self, step: int) -> Self:
        """Return the fence of a step of the same attempt or operation."""
        return dataclasses.replace(self, step=step)

    def after(self, steps: int) -> Self:
        """Return a later fence of the same attempt or operation."""
        return self.at(self.step + steps)

    @property
    def before(self) -> Self:
        """The fence just below: a release by it frees no claim that is made by this one."""
        return type(self).from_int(int(self) - 1)

    def of_try(self, number: int) -> Self:
        """Return the fence of an operation's try to find a host, counted from 1.

        The scheduler claims by it, and by the next one if it has to try again. A try that begins
        with a release uses the one before, which is not below those of the previous try. So a
        release that is delivered late, or twice, frees nothing that was claimed since.
        """
        return self.at(_TRY_STEPS * number - 1)

    def of_alternate(self, position: int) -> Self:
        """Return the fence of an operation's claim on the host at a position of its list."""
        return self.at(FenceStep.ALTERNATE + position)

    def of_added(self, position: int, *, is_removed: bool = False) -> Self:
        """Return the fence by which an evacuation adds a host's claim, or removes it again."""
        return self.at(FenceStep.ALTERNATE + 2 * position + is_removed)


FIRST_FENCE = Fence.of_build(1)
"""Fence of an instance's first claims."""


def next_attempt(fence: T) -> T:
    """Return the first fence of the next attempt at a build; works on a database column, too."""
    return fence + _STEPS


def attempt(fence: T) -> T:
    """Return the number of an attempt at a build; works on a database column, too."""
    return fence // _STEPS
