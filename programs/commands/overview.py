"""``help``: an overview of all commands, or the full help of one."""

from __future__ import annotations

import argparse
import inspect

from cliff.app import App
from cliff.help import HelpCommand


class Help(HelpCommand):
    """Show all commands, or the help of one command."""

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        if parsed_args.cmd:
            return super().take_action(parsed_args)
        self.app.stdout.write(overview(self.app))
        return 0


def overview(app: App) -> str:
    """Return the general options and one line per command."""
    commands = {name: point.load() for name, point in app.command_manager}
    width = max(map(len, commands))
    lines = [
        f"  {name.ljust(width)}  {_first_line(command)}"
        for name, command in sorted(commands.items())
    ]
    return "\n".join([app.parser.format_help(), "commands:", *lines, ""])


def _first_line(command: type) -> str:
    return (inspect.getdoc(command) or "").partition("\n")[0].rstrip(".")
