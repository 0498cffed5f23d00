"""Commands whose output is a table for people, or its whole values for programs."""

import csv
import logging
import os
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, TextIO

from cliff import lister, show
from cliff.columns import FormattableColumn
from cliff.formatters.base import ListFormatter, SingleFormatter
from cliff.formatters.commaseparated import CSVLister
from cliff.formatters.json_format import JSONFormatter
from cliff.formatters.shell import ShellFormatter
from cliff.formatters.value import ValueFormatter
from cliff.formatters.yaml_format import YAMLFormatter

from armillary.table_columns import cells, printable
from programs.application import WithOptions
from programs.display import text_table

Names = Sequence[str]
Row = Sequence[Any]
Rows = Iterable[Row]

TABLE = "table"
LIST = "list-"
_VERBS = ("list", "set", "show")
"""Beginning of the last word of commands such as ``cell list-hosts``."""
_FORMULA = re.compile(r"[=+\-@\t\r]")
_ACTIVE_IN_QUOTES = re.compile(r"[\\$`]")


class Table(ListFormatter, SingleFormatter):
    """Columns of plain text: as wide as the terminal, or as their content where there is none."""

    def add_argument_group(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--max-width",
            metavar="N",
            type=int,
            help="maximum width of a table in characters, 0: unlimited (default: $COLUMNS or the "
            "terminal's; unlimited in a file or pipe)",
        )

    def emit_list(
        self, column_names: Names, data: Rows, stdout: TextIO, parsed_args: Namespace
    ) -> None:
        rows = [list(row) for row in data]
        right = [isinstance(value, int | float) for value in rows[0]] if rows else []
        texts = [list(column_names), *([_text(value) for value in row] for row in rows)]
        width = _width(parsed_args, stdout)
        if not parsed_args.columns:
            shown = text_table.columns_that_say_something(texts, width)
            texts = [[row[column] for column in shown] for row in texts]
            right = [right[column] for column in shown] if right else []
        _write(stdout, text_table.lines(texts, width, right=right))

    def emit_one(
        self, column_names: Names, data: Row, stdout: TextIO, parsed_args: Namespace
    ) -> None:
        rows = [[name, _text(value)] for name, value in zip(column_names, data, strict=True)]
        _write(stdout, text_table.lines(rows, _width(parsed_args, stdout)))


class Csv(CSVLister):
    """Comma-separated values; what is missing is empty.

    Users choose names, and spreadsheets run a text that begins as a formula: such a text begins
    with an apostrophe here, which they take for the mark of text. Numbers are written as they are.
    """

    def emit_list(
        self, column_names: Names, data: Rows, stdout: TextIO, parsed_args: Namespace
    ) -> None:
        quoting = self.QUOTE_MODES[parsed_args.quote_mode]
        writer = csv.writer(stdout, quoting=quoting, lineterminator="\n", escapechar="\\")
        writer.writerow(column_names)
        writer.writerows([_inert(_shown(value, stdout)) for value in row] for row in data)


class Value(ValueFormatter):
    """Values alone; what is missing is empty."""

    def emit_list(
        self, column_names: Names, data: Rows, stdout: TextIO, parsed_args: Namespace
    ) -> None:
        _write(stdout, (" ".join(str(_shown(value, stdout)) for value in row) for row in data))

    def emit_one(
        self, column_names: Names, data: Row, stdout: TextIO, parsed_args: Namespace
    ) -> None:
        _write(stdout, (str(_shown(value, stdout)) for value in data))


class Shell(ShellFormatter):
    """Assignments for a shell, which runs nothing in them; what is missing is empty.

    The base class escapes double quotes alone.
    """

    def emit_one(
        self, column_names: Names, data: Row, stdout: TextIO, parsed_args: Namespace
    ) -> None:
        names = [re.sub(r"\W", "_", name, flags=re.ASCII) for name in column_names]
        texts = (str(_shown(value, stdout)) for value in data)
        values = [_ACTIVE_IN_QUOTES.sub(r"\\\g<0>", text) for text in texts]
        super().emit_one(names, values, stdout, parsed_args)


class Formats:
    """The formats of one kind of output, as cliff asks for them.

    Cliff's own way to find them reads the metadata of all installed distributions.
    """

    def __init__(self, **formatters: ListFormatter | SingleFormatter) -> None:
        self._formatters = formatters

    def names(self) -> list[str]:
        return list(self._formatters)

    def __getitem__(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(obj=self._formatters[name])

    def __iter__(self) -> Iterator[SimpleNamespace]:
        return map(self.__getitem__, self._formatters)


class Lister(WithOptions, lister.Lister):
    """A command that shows a table with one row per item; ``-c`` selects columns.

    ``listed_items`` is what it lists, where its own words do not say so.
    """

    listed_items: str | None = None
    log = logging.getLogger("programs")

    def _load_formatter_plugins(self) -> Any:
        return Formats(
            table=Table(), json=JSONFormatter(), csv=Csv(), value=Value(), yaml=YAMLFormatter()
        )

    def produce_output(self, parsed_args: Namespace, column_names: Names, data: Rows) -> int:
        rows = [_cells(row) for row in data]
        if not rows and parsed_args.formatter == TABLE:
            items = self.listed_items or items_of(self.cmd_name or "")
            self.app.stderr.write(f"No {items} found.\n")
            return 0
        return super().produce_output(parsed_args, column_names, rows)


class ShowOne(WithOptions, show.ShowOne):
    """A command that shows one item, with one row per field."""

    def _load_formatter_plugins(self) -> Any:
        return Formats(
            table=Table(), json=JSONFormatter(), shell=Shell(), value=Value(), yaml=YAMLFormatter()
        )

    def produce_output(
        self, parsed_args: Namespace, column_names: Sequence[str], data: Iterable[Any]
    ) -> int:
        return super().produce_output(parsed_args, column_names, _cells(data))


def items_of(command: str) -> str:
    """Return what a command lists: ``server list`` lists servers, ``server events`` its events."""
    noun, _, verb = command.rpartition(" ")
    if verb.startswith(LIST):
        return verb.removeprefix(LIST).replace("-", " ")
    return _plural(noun) if verb in _VERBS else command


def _plural(noun: str) -> str:
    if noun.endswith("ss"):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"


def _cells(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return values as table cells; empty text stays what it is for programs."""
    row = tuple(values)
    return tuple(
        value if value == "" else cell for value, cell in zip(row, cells(row), strict=True)
    )


def _write(stdout: TextIO, lines: Iterable[str]) -> None:
    stdout.writelines(f"{line}\n" for line in lines)


def _width(parsed_args: Namespace, stdout: TextIO) -> int | None:
    """Return the width that a table must fit. What ``grep`` and ``awk`` read is not wrapped."""
    if parsed_args.max_width is not None:
        return parsed_args.max_width if parsed_args.max_width > 0 else None
    return text_table.screen_width() if os.environ.get("COLUMNS") or stdout.isatty() else None


def _text(value: Any) -> str:
    return value.human_readable() if isinstance(value, FormattableColumn) else str(value)


def _shown(value: Any, stdout: TextIO) -> Any:
    """Return a plain value; on a terminal, text that cannot command it."""
    plain = _plain(value)
    return printable(plain) if isinstance(plain, str) and stdout.isatty() else plain


def _inert(value: Any) -> Any:
    """Return a value that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def _plain(value: Any) -> Any:
    """Return a value for a cell of a file: no None, no Python."""
    if isinstance(value, FormattableColumn):
        value = value.machine_readable()
    if value is None:
        return ""
    if isinstance(value, dict):
        return ", ".join(f"{key}={_plain(one)}" for key, one in sorted(value.items()))
    if isinstance(value, list | tuple):
        return ", ".join(str(_plain(one)) for one in value)
    return value
