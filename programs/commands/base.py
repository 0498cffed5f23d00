"""Base classes of commands: output formats, and access to the API."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TextIO, cast

from cliff.command import Command
from cliff.lister import Lister
from cliff.show import ShowOne

from programs.http_client import ApiClient, Document

LOG = logging.getLogger(__name__)

_ZONE = "zone "
"""Prefix of zones among the cells that the API reports as not answering."""


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


class _ApiCommandBase(Command):
    """A command that calls the API."""

    @property
    def application(self) -> Application:
        """The application that runs this command."""
        return cast("Application", self.app)

    @property
    def api(self) -> ApiClient:
        """Client of the API that the command line selects."""
        return self.application.api

    def items(
        self, key: str, *path: str, query: Mapping[str, Any] | None = None
    ) -> Iterator[Document]:
        """Yield all items of a list; warn once of each cell and zone missing from it."""
        said: set[str] = set()

        def on_page(answer: Document) -> None:
            for cell in answer.get("armillary:down_cells", []):
                if cell not in said:
                    what = cell if cell.startswith(_ZONE) else f"cell {cell}"
                    LOG.warning(
                        "%s does not answer; its items are not shown.",
                        f"{what[0].upper()}{what[1:]}",
                    )
                said.add(cell)

        yield from self.api.list_all(key, *path, query=query, on_page=on_page)


class ApiCommand(_ApiCommandBase):
    """A command with little output."""


class ApiLister(_ApiCommandBase, Lister):
    """A command that shows a table with one row per item; ``-c`` selects columns."""


class ApiShow(_ApiCommandBase, ShowOne):
    """A command that shows one item, with one row per field."""
