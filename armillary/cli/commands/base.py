"""What commands are made of: kinds of output, and the API that they ask."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TextIO, cast

from cliff.command import Command
from cliff.lister import Lister
from cliff.show import ShowOne

from armillary.cli.http_client import ApiClient, Document

LOG = logging.getLogger(__name__)

_ZONE = "zone "
"""How the API names a zone among the cells that do not answer."""


class Application(Protocol):
    """The part of the application that commands use."""

    @property
    def api(self) -> ApiClient: ...

    @property
    def stdout(self) -> TextIO: ...

    @property
    def stderr(self) -> TextIO: ...

    @property
    def options(self) -> argparse.Namespace: ...


class _Asks(Command):
    """A command that asks the API."""

    @property
    def application(self) -> Application:
        """What runs this command."""
        return cast("Application", self.app)

    @property
    def api(self) -> ApiClient:
        """The API that the command line names."""
        return self.application.api

    def items(
        self, key: str, *path: str, query: Mapping[str, Any] | None = None
    ) -> Iterator[Document]:
        """Yield all items of a list; say which cells and zones are missing from it, once."""
        said: set[str] = set()

        def on_page(answer: Document) -> None:
            for cell in answer.get("armillary:down_cells", []):
                if cell not in said:
                    what = cell if cell.startswith(_ZONE) else f"cell {cell}"
                    LOG.warning(
                        "%s does not answer: what is there is not shown.",
                        f"{what[0].upper()}{what[1:]}",
                    )
                said.add(cell)

        yield from self.api.list_all(key, *path, query=query, on_page=on_page)


class ApiCommand(_Asks):
    """Does something and says little."""


class ApiLister(_Asks, Lister):
    """Shows a table with a row for each thing; the columns can be chosen (``-c``)."""


class ApiShow(_Asks, ShowOne):
    """Shows one thing, a row for each of its fields."""
