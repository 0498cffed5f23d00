"""Common part of the programs with commands: lazy loading, help, general options, exit codes."""

import argparse
import ast
import inspect
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn, TextIO

from cliff.app import App
from cliff.command import Command
from cliff.commandmanager import CommandManager
from cliff.help import HelpCommand

from programs.display.text_table import screen_width

EXIT_FAILED = 1
EXIT_USAGE = 2
SIMILAR_SHOWN_MAX = 5
MEANING_WIDTH_MIN = 20


class CommandTable(CommandManager):
    """Commands by their words, as ``module:Class``; a module is imported when its command runs."""

    def __init__(self, commands: Mapping[str, str], aliases: Mapping[str, str]) -> None:
        super().__init__()
        self.aliases = aliases
        for words, place in commands.items():
            self.commands[words] = EntryPoint(words, place, "commands")
        for words, meant in aliases.items():
            self.commands[words] = EntryPoint(words, commands[meant], "aliases")


class Application(App):
    """``commands`` is the table of commands, ``aliases`` that of other words for some of them.

    Streams can be passed by Python callers.
    """

    def __init__(
        self,
        program: str,
        description: str,
        commands: Mapping[str, str],
        *,
        aliases: Mapping[str, str] = MappingProxyType({}),
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
    ) -> None:
        self.NAME = program
        self._error: BaseException | None = None
        super().__init__(
            description,
            None,  # --version reads it: the metadata of the distribution takes long to load
            CommandTable(commands, aliases),
            stdout=stdout,
            stderr=stderr,
            deferred_help=True,  # so that --help after a command is that command's
        )
        self.command_manager.add_command("help", Help)  # replaces cliff's
        del self.command_manager.commands["complete"]  # cliff's, which knows no names

    def exit_code_of(self, error: BaseException) -> int:
        """Return the exit code for the error that ended a command."""
        return EXIT_FAILED

    def build_option_parser(
        self, description: str | None, version: str | None, argparse_kwargs: Any = None
    ) -> argparse.ArgumentParser:
        kwargs = {
            "prog": self.NAME,
            "conflict_handler": "resolve",  # --version, which would show the program's file name
            "formatter_class": argparse.RawDescriptionHelpFormatter,
            # general options must not be abbreviated: a command's option may share the prefix
            "allow_abbrev": False,
            **(argparse_kwargs or {}),
        }
        parser = super().build_option_parser(_filled(description or ""), version, kwargs)
        parser.add_argument("--version", action=_Version, program=self.NAME)
        return with_short_errors(parser)

    def interact(self) -> None:
        self.LOG.error("No command given; see: %s --help", self.NAME)
        raise SystemExit(EXIT_USAGE)

    def print_help_if_requested(self) -> None:
        if self.options.deferred_help:
            self.stdout.write(_overview(self))
            raise SystemExit(0)

    def run_subcommand(self, argv: list[str]) -> int:
        try:
            self.command_manager.find_command(argv)
        except ValueError:
            self.LOG.error("%s", self._unknown_command(argv))  # noqa: TRY400 - a line
            return EXIT_USAGE
        result = super().run_subcommand(argv)
        return result if self._error is None else self.exit_code_of(self._error)

    def clean_up(self, cmd: Command, result: int, err: BaseException | None) -> None:
        self._error = err

    def _unknown_command(self, argv: Sequence[str]) -> str:
        import difflib  # mistakes are rare

        words = list(itertools.takewhile(lambda word: not word.startswith("-"), argv))
        names = [name for name, _point in self.command_manager]
        parts = [name.split() for name in names]
        nexts = {part[len(words)] for part in parts if part[: len(words)] == words != part}
        if words and nexts:
            return f"'{' '.join(words)}' needs another word: {', '.join(sorted(nexts))}"
        near = difflib.get_close_matches(" ".join(words), names, n=SIMILAR_SHOWN_MAX)
        similar = ", ".join(near or self.get_fuzzy_matches(argv[0])) or "none"
        return f"Unknown command '{' '.join(argv)}'. Similar commands: {similar}"


class _Version(argparse.Action):
    """Show the program and its version, and end."""

    def __init__(self, option_strings: Sequence[str], dest: str, *, program: str) -> None:
        super().__init__(
            option_strings, dest, nargs=0, default=argparse.SUPPRESS,
            help="show program's version number and exit",
        )  # fmt: skip
        self._program = program

    def __call__(self, parser: argparse.ArgumentParser, *args: Any, **kwargs: Any) -> None:
        from armillary.version import version_string

        sys.stdout.write(f"{self._program} {version_string()}\n")
        parser.exit()


def with_short_errors(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Let a usage error be a line, with the place of the help instead of all options."""

    def refuse(message: str) -> NoReturn:
        help_is_at = f"{parser.prog} --help"
        parser.exit(EXIT_USAGE, f"{parser.prog}: error: {message}\nSee: {help_is_at}\n")
        raise AssertionError("the parser has ended the program")

    parser.error = refuse  # type: ignore[method-assign]
    return parser


def secret_in(path: str) -> str:
    """Return the text of a file, or of standard input for ``-``, as a type of an option.

    Secrets are not given as arguments: all accounts of a machine see these. Raises
    ArgumentTypeError.
    """
    try:
        return (sys.stdin.read() if path == "-" else Path(path).read_text()).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise argparse.ArgumentTypeError(f"cannot read {path}: {error}") from error


class WithOptions(Command):
    """A command that declares its options and arguments in ``add_options``."""

    def _load_hooks(self) -> None:
        """Have no hooks: to look for some reads the metadata of all installed distributions."""
        self._hooks = []

    def get_epilog(self) -> str:
        """Return no epilog: to name the distribution of a command reads the metadata of all."""
        return ""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        self.add_options(parser)
        return with_short_errors(parser)

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options and arguments of this command."""


class Help(WithOptions, HelpCommand):
    """Show all commands, or the help of one command."""

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        if parsed_args.cmd:
            return super().take_action(parsed_args)
        self.app.stdout.write(_overview(self.app))
        return 0


def _overview(app: App) -> str:
    aliases = getattr(app.command_manager, "aliases", {})
    commands = [item for item in sorted(app.command_manager) if item[0] not in aliases]
    summaries = _summaries(point.value for _name, point in commands)
    lines = list(_described({name: summaries[point.value] for name, point in commands}))
    if aliases:
        lines += ["", "the same in the words of OpenStack:", *_described(aliases)]
    return "\n".join([app.parser.format_help(), "commands:", *lines, ""])


def _described(meanings: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each name, or several if its meaning is longer than the terminal is wide."""
    import textwrap  # help alone needs it

    width = max(map(len, meanings)) + 4
    room = max(MEANING_WIDTH_MIN, screen_width() - width)
    for name, meaning in sorted(meanings.items()):
        first, *others = textwrap.wrap(meaning, room, break_on_hyphens=False)
        yield f"  {name}".ljust(width) + first
        yield from (" " * width + line for line in others)


def _filled(text: str) -> str:
    """Return paragraphs in lines of the terminal's width."""
    import textwrap

    parts = text.strip().split("\n\n")
    return "\n\n".join(textwrap.fill(" ".join(part.split()), screen_width()) for part in parts)


def _summaries(places: Iterator[str]) -> dict[str, str]:
    """Return the first docstring line of each ``module:Class``, without importing its module.

    To import all modules for a list of commands would take seconds.
    """
    classes: dict[str, dict[str, ast.ClassDef]] = {}
    found = {}
    for place in places:
        module, _, name = place.partition(":")
        if module not in classes:
            classes[module] = {
                node.name: node
                for node in ast.parse(_source(module)).body
                if isinstance(node, ast.ClassDef)
            }
        text = inspect.cleandoc(ast.get_docstring(classes[module][name]) or "")
        found[place] = (text[:1].upper() + text[1:]).partition("\n")[0].rstrip(".")
    return found


def _source(module: str) -> str:
    spec = find_spec(module)
    assert spec is not None, f"{module} is in the table of commands"
    return Path(str(spec.origin)).read_text(encoding="utf-8")
