"""Steps of a deployment: each looks whether it is done, does what is missing, and is reported."""

import dataclasses
import subprocess
from collections.abc import Callable
from typing import TextIO

from sqlalchemy.exc import SQLAlchemyError

from armillary import exception
from armillary.logs.masking import mask_passwords

PROGRAM_SECONDS_MAX = 120


class StepFailed(exception.ArmillaryError):
    """A step failed. What was done stays, and the next run continues from there."""

    template = (
        "%(what)s failed: %(reason)s. What was done until then stays; run the same command again "
        "to continue"
    )


@dataclasses.dataclass
class Steps:
    """Does steps in order; with ``is_dry_run`` only reports what it would do."""

    out: TextIO
    is_dry_run: bool = False
    done: list[str] = dataclasses.field(default_factory=list)
    unchanged: int = 0

    def do(self, verb: str, what: str, act: Callable[[], object], *, is_done: bool = False) -> bool:
        """Do a step unless it is done; return whether there was something to do.

        Raises StepFailed.
        """
        if is_done:
            self.unchanged += 1
            if self.is_dry_run:
                self._report("unchanged", what)
            return False
        self._report(f"would {verb}" if self.is_dry_run else verb, what)
        if not self.is_dry_run:
            with_context(f"{verb} {what}", act)
        self.done.append(what)
        return True

    def summary(self) -> str:
        """Return one line on what was done."""
        count = len(self.done)
        if self.is_dry_run:
            steps = "1 step" if count == 1 else f"{count} steps"
            return f"Dry run, nothing was changed: {steps} to do, {self.unchanged} done before"
        if not count:
            return f"Nothing to do: all {self.unchanged} steps were done before"
        steps = "1 step" if count == 1 else f"{count} steps"
        return f"{steps} done, {self.unchanged} done before"

    def _report(self, verb: str, what: str) -> None:
        self.out.write(f"{verb:<13} {what}\n")


def with_context(what: str, act: Callable[[], object]) -> None:
    """Call ``act``; raise StepFailed for errors of the machine and of services."""
    try:
        act()
    except StepFailed:
        raise
    except (exception.ArmillaryError, OSError, SQLAlchemyError) as error:
        raise StepFailed(what=what, reason=reason_of(error)) from error


def reason_of(error: Exception) -> str:
    """Return an error's first line, without passwords and a final full stop."""
    cause = getattr(error, "orig", None) or error
    first = next(iter(str(cause).strip().splitlines()), type(error).__name__)
    return mask_passwords(first).rstrip(".")


def run_program(command: list[str], text: str | None = None) -> str:
    """Run a program of the machine and return its output. Raises Unavailable."""
    try:
        ended = subprocess.run(  # noqa: S603 - our own arguments
            command, input=text, capture_output=True, text=True, timeout=PROGRAM_SECONDS_MAX,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise exception.Unavailable(f"{command[0]} cannot be run: {error}") from error
    if ended.returncode != 0:
        said = " ".join((ended.stderr or ended.stdout).split())
        raise exception.Unavailable(f"{command[0]} ended with {ended.returncode}: {said:.500}")
    return ended.stdout
