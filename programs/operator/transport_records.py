"""Common part of the commands on cells and zones, which are both records with a transport URL."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from armillary import exception
from armillary.db import Database
from armillary.masking import mask_passwords
from objects.cell_mapping import CellMapping
from objects.zones.child_zone import ChildZone
from programs.operator.databases import open_api

COLUMNS = ("UUID", "Name", "Disabled", "Transport URL")

EXIT_UNKNOWN = 1
"""The cell or zone does not exist."""


class ApiDatabaseCommand:
    """Common part of commands that use the records: the API database."""

    app: Any

    @cached_property
    def database(self) -> Database:
        return open_api(self.app.conf)


def row_of(record: CellMapping | ChildZone) -> tuple[Any, ...]:
    """Return the columns of a record."""
    url = mask_passwords(record.transport_url)
    return (record.uuid, record.name, record.disabled, url)


def add_if_missing(parser: argparse.ArgumentParser) -> None:
    """Add the option of commands that create a record."""
    parser.add_argument("--if-missing", action="store_true", help="succeed if it already exists")


def add_ability(parser: argparse.ArgumentParser, *, disable_help: str) -> None:
    """Add the options of commands that change a record; ``disabled`` is None if not given."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--disable", dest="disabled", action="store_const", const=True, help=disable_help
    )
    group.add_argument(
        "--enable",
        dest="disabled",
        action="store_const",
        const=False,
        help="accept new servers again",
    )


def given(parsed_args: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the options that were given. Raises Invalid if there is none."""
    values = {name: getattr(parsed_args, name) for name in names}
    chosen = {name: value for name, value in values.items() if value is not None}
    if not chosen:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in names if name != "disabled")
        raise exception.Invalid(reason=f"nothing to change: give {options}, --disable or --enable")
    return chosen


def exit_code_of(app: Any, remove: Callable[[], None], by_reason: Mapping[str, int]) -> int:
    """Remove a record; return 0, or the exit code for what prevents it, which is reported."""
    try:
        remove()
    except exception.NotFound as error:
        app.LOG.error(error)  # noqa: TRY400 - a line, no traceback
        return EXIT_UNKNOWN
    except exception.InUse as error:
        app.LOG.error(error)  # noqa: TRY400 - a line, no traceback
        return by_reason[error.kwargs["because"]]
    return 0
