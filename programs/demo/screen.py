"""Output of the demo: headings, tables, a status line, and commands run as a user types them."""

import io
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from programs.commands.app import URL_VARIABLE, ClientApp
from programs.demo.control_plane import expect

PLAIN_WIDTH = 120


class Screen:
    """Write to standard output: with colours and a spinner on a terminal, else plain lines."""

    def __init__(self, console: Console | None = None) -> None:
        width = None if sys.stdout.isatty() else PLAIN_WIDTH
        self.console = console or Console(width=width, highlight=False)

    def heading(self, text: str) -> None:
        self.console.print()
        self.console.print(Rule(Text(text, style="bold cyan"), align="left", style="cyan"))

    def say(self, text: str, style: str = "") -> None:
        """Print text; it is not interpreted as markup, and lines are not wrapped."""
        self.console.print(Text(text, style=style), soft_wrap=True)

    def command(self, words: Sequence[str]) -> None:
        self.typed(shlex.join(["armillary", *words]))

    def typed(self, line: str) -> None:
        self.say(f"$ {line}", style="green")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
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


INTERRUPTED = 130


class CommandLine:
    """Run commands against one API. Errors and progress go to ``stderr`` as usual."""

    def __init__(self, url: str, screen: Screen, stderr: TextIO | None = None) -> None:
        self._environment = {URL_VARIABLE: url}
        self._screen = screen
        self._stderr = stderr or sys.stderr

    def run(self, *words: str, shown: str | None = None, exit_code: int = 0) -> str:
        """Run a command and return its output; ``shown`` is the line displayed for it.

        Raises ``DemoFailed`` if it ends with another exit code, ``KeyboardInterrupt`` after Ctrl-C.
        """
        self._screen.typed(shown or shlex.join(["armillary", *words]))
        stdout = io.StringIO()
        app = ClientApp(stdout=stdout, stderr=self._stderr, environment=self._environment)
        code = app.run(list(words))
        if code == INTERRUPTED:
            raise KeyboardInterrupt  # cliff treats it as the end of the whole program
        name = " ".join(["armillary", *words[:2]])
        expect(code == exit_code, f"'{name}' ended with exit code {code}, expected {exit_code}")
        return stdout.getvalue()

    def ask(self, *words: str) -> Any:
        """Run a command with ``-f json`` and return its parsed output."""
        shown = shlex.join(["armillary", *words])
        text = self.run(*words, "-f", "json", shown=shown)
        return json.loads(text)
