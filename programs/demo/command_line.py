"""``armillary`` commands run by the demo in this process, and shown as a user would type them."""

from __future__ import annotations

import io
import json
import shlex
import sys
from typing import Any, TextIO

from programs.commands.app import URL_VARIABLE, ClientApp
from programs.demo.expectation import expect
from programs.demo.screen import Screen

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
