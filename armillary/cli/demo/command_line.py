"""``armillary`` commands from within the demo: run in this process, shown as a user types them."""

from __future__ import annotations

import io
import json
import shlex
import sys
from typing import Any, TextIO

from armillary.cli.commands.app import URL_VARIABLE, ClientApp
from armillary.cli.demo.expectation import expect
from armillary.cli.demo.screen import Screen

INTERRUPTED = 130


class CommandLine:
    """Runs commands against one API. Errors and progress go to ``stderr`` as ever."""

    def __init__(self, url: str, screen: Screen, stderr: TextIO | None = None) -> None:
        self._environment = {URL_VARIABLE: url}
        self._screen = screen
        self._stderr = stderr or sys.stderr

    def run(self, *words: str, shown: str | None = None, exit_code: int = 0) -> str:
        """Run a command and return what it printed; ``shown`` is the line on the screen for it.

        Raises ``DemoFailed`` when it ends with another exit code, ``KeyboardInterrupt`` after
        Ctrl-C.
        """
        self._screen.typed(shown or shlex.join(["armillary", *words]))
        stdout = io.StringIO()
        app = ClientApp(stdout=stdout, stderr=self._stderr, environment=self._environment)
        code = app.run(list(words))
        if code == INTERRUPTED:
            raise KeyboardInterrupt  # cliff has taken it for the end of the whole program
        name = " ".join(["armillary", *words[:2]])
        expect(code == exit_code, f"'{name}' ended with exit code {code}, not {exit_code}")
        return stdout.getvalue()

    def ask(self, *words: str) -> Any:
        """Run a command with ``-f json`` and return what it printed."""
        shown = shlex.join(["armillary", *words])
        text = self.run(*words, "-f", "json", shown=shown)
        return json.loads(text)
