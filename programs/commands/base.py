"""Base classes of commands: access to the API, tables declared by column, progress."""

from __future__ import annotations

import logging
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from armillary import exception
from armillary.table_columns import Age, ShortId, cells
from programs.application import WithOptions
from programs.commands import silent_cells
from programs.commands.lookup import UNKNOWN
from programs.display.output import Lister, ShowOne
from programs.display.progress import Show, progress
from programs.http_client import ApiClient, Document

if TYPE_CHECKING:
    from programs.commands.app import ClientApp

LOG = logging.getLogger(__name__)

Table = tuple[Sequence[str], Iterable[Sequence[Any]]]
"""Column titles and rows."""
Record = tuple[Sequence[str], Iterable[Any]]
"""Field names and values of one object."""
Columns = Mapping[str, str | Callable[[Document], Any]]
"""Title of a column or field -> key in the item that the API returns, or function of the item.

A key may be missing: some are for administrators, and of a server in a silent cell few are known.
"""

NOT_SHOWN = "its items are not shown"


def table(columns: Columns, items: Iterable[Document]) -> Table:
    """Return items as a table with one row each."""
    return tuple(columns), [_values(columns, item) for item in items]


def short_id(item: Document) -> ShortId:
    """Return the id of an item for a column of a list."""
    return ShortId(str(item["id"]))


def age(key: str) -> Callable[[Document], Age]:
    """Return the function of a column that shows the time since ``key``."""
    return lambda item: Age(item[key])


def record(columns: Columns, item: Document) -> Record:
    """Return one item as a table with one row per field."""
    return tuple(columns), _values(columns, item)


def _values(columns: Columns, item: Document) -> tuple[Any, ...]:
    return cells(
        item.get(source) if isinstance(source, str) else source(item) for source in columns.values()
    )


@contextmanager
def removed_on_failure(api: ApiClient, *path: str) -> Iterator[None]:
    """Delete a new object if what belongs to it cannot be added: a repeat would find it there."""
    try:
        yield
    except BaseException:
        with suppress(exception.ArmillaryError):
            api.delete(*path)
        raise


class _ApiCommandBase(WithOptions):
    """A command that calls the API."""

    waits = False
    """Whether it waits for work that continues without it."""

    @property
    def application(self) -> ClientApp:
        return cast("ClientApp", self.app)

    @property
    def api(self) -> ApiClient:
        return self.application.api

    def items(
        self, key: str, *path: str, query: Mapping[str, Any] | None = None
    ) -> Iterator[Document]:
        """Yield all items of a list; warn once of each cell and zone missing from it."""
        said: set[str] = set()

        def on_page(answer: Document) -> None:
            has_unknown = any(item.get("status") == UNKNOWN for item in answer.get(key, []))
            shown = "of its servers only the ids are shown" if has_unknown else NOT_SHOWN
            for part in silent_cells.parts(answer):
                if part not in said:
                    LOG.warning("%s does not answer; %s.", f"{part[0].upper()}{part[1:]}", shown)
                said.add(part)

        yield from self.api.list_all(key, *path, query=query, on_page=on_page)

    def progress(
        self, title: str, total: int, *, is_shown: bool = True
    ) -> AbstractContextManager[Show]:
        """Return a context that shows progress on standard error, unless with ``--quiet``."""
        self.waits = is_shown
        is_quiet = not is_shown or self.application.options.verbose_level == 0
        return progress(self.application.stderr, title, total, quiet=is_quiet)

    def report(self, line: str) -> None:
        """Write a line to standard error, unless with ``--quiet``."""
        if self.application.options.verbose_level > 0:
            self.application.stderr.write(f"{line}\n")


class ApiCommand(_ApiCommandBase):
    """A command with little output."""


class ApiLister(_ApiCommandBase, Lister):
    """A command that shows a table with one row per item; ``-c`` selects columns."""


class ApiShow(_ApiCommandBase, ShowOne):
    """A command that shows one item, with one row per field."""


class Noun(NamedTuple):
    """A kind of object that can be shown and deleted by id or name."""

    name: str
    path: str
    find: Callable[[ApiClient, str], Document]
    fields: Columns


class ShowNamed(ApiShow):
    """Show one object of the kind ``noun``."""

    noun: Noun

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("wanted", metavar=self.noun.name, help="id or name")

    def take_action(self, parsed_args: Namespace) -> Record:
        return record(self.noun.fields, self.noun.find(self.api, parsed_args.wanted))


class DeleteNamed(ApiCommand):
    """Delete objects of the kind ``noun``; none if one of them is unknown."""

    noun: Noun

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("wanted", nargs="+", metavar=self.noun.name, help="id or name")

    def take_action(self, parsed_args: Namespace) -> int:
        for found in [self.noun.find(self.api, name) for name in parsed_args.wanted]:
            self.api.delete(self.noun.path, str(found["id"]))
        return 0
