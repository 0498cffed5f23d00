"""Output of the demo: headings, commands, tables, and a status line while it waits."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

PLAIN_WIDTH = 120


class Screen:
    """Write to standard output: with colours and a spinner on a terminal, else plain lines."""

    def __init__(self, console: Console | None = None) -> None:
        width = None if sys.stdout.isatty() else PLAIN_WIDTH
        self.console = console or Console(width=width, highlight=False)

    def heading(self, text: str) -> None:
        """Start a section."""
        self.console.print()
        self.console.print(Rule(Text(text, style="bold cyan"), align="left", style="cyan"))

    def say(self, text: str, style: str = "") -> None:
        """Print text; it is not interpreted as markup, and lines are not wrapped."""
        self.console.print(Text(text, style=style), soft_wrap=True)

    def command(self, words: Sequence[str]) -> None:
        """Show a command of this program as a user would type it."""
        self.typed(shlex.join(["armillary", *words]))

    def typed(self, line: str) -> None:
        """Show a line that a user would type."""
        self.say(f"$ {line}", style="green")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show rows with column headings."""
        table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 3, 0, 0))
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        self.console.print(table)

    @contextmanager
    def waiting(self, text: str) -> Iterator[Callable[[str], None]]:
        """Show progress while the block runs; yield a function that updates the text."""
        if not self.console.is_terminal:
            self.say(f"{text} ...")
            yield lambda text: None
            return
        with self.console.status(text) as status:
            yield status.update
