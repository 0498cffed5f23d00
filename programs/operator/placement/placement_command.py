"""Common part of the commands ``armillary-manage placement``: clients, progress, exit codes."""

import re
import uuid
from abc import abstractmethod
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from armillary import exception
from programs.application import WithOptions
from programs.display.progress import Show, progress
from programs.operator.service_clients import Peers, peers

EXIT_INVALID = 127
EXIT_INCOMPLETE = 10
"""A cell did not answer; its servers were skipped."""

_CLEAR_LINE = "\r\x1b[2K"  # clears the progress bar, which is redrawn below


class BadInput(Exception):
    """Invalid input."""


class PlacementCommand(WithOptions):
    """Common part: clients, output, progress, and exit codes for errors."""

    app: Any
    exit_unexpected = 1
    """Exit code for errors that scripts expect of this command from Nova."""
    _line_start = ""

    def take_action(self, parsed_args: Namespace) -> int:
        try:
            with peers(self.app.conf) as found:
                return self.work(parsed_args, found)
        except BadInput as error:
            self.app.LOG.error(error)  # noqa: TRY400 - a line, no traceback
            return EXIT_INVALID
        except exception.ConfigurationError:
            raise
        except exception.ArmillaryError as error:
            self.app.LOG.error(error)  # noqa: TRY400 - a line, no traceback
            return self.exit_unexpected

    @abstractmethod
    def work(self, parsed_args: Namespace, found: Peers) -> int:
        """Run the command; return the exit code."""

    def say(self, line: str) -> None:
        """Print a line."""
        self.app.stdout.write(f"{self._line_start}{line}\n")

    def tell(self, line: str) -> None:
        """Print a line with ``--verbose`` only, an option of all commands."""
        if self.app.options.verbose_level > 1:
            self.say(line)

    @contextmanager
    def progress(self, title: str, total: int | None) -> Iterator[Show]:
        """Show progress on a terminal, and nowhere else."""
        stream = self.app.stderr
        if stream.isatty() and self.app.stdout.isatty():
            self._line_start = _CLEAR_LINE
        try:
            with progress(stream, title, total, quiet=not stream.isatty()) as show:
                yield show
        finally:
            self._line_start = ""

    def warn_of(self, down_cells: set[str]) -> None:
        """Report the cells that did not answer."""
        for name in sorted(down_cells):
            self.app.stderr.write(f"cell {name} does not answer; its servers are skipped\n")


def parse_uuid(text: str | None) -> str | None:
    """Return a UUID in its usual form. Raises ``BadInput``."""
    try:
        return None if text is None else str(uuid.UUID(text))
    except ValueError:
        raise BadInput(f"{text!r} is not a UUID") from None


def parse_number(text: str, what: str, lowest: int, highest: int) -> int:
    """Return a number within bounds. Raises ``BadInput``."""
    if not re.fullmatch("[0-9]{1,12}", text) or not lowest <= int(text) <= highest:
        raise BadInput(f"{what} must be a number from {lowest} to {highest}, not {text!r}")
    return int(text)
