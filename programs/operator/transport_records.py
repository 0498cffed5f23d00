"""Commands on cells and zones, which are both records with a transport URL."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from armillary import exception
from armillary.db import Database
from armillary.logs.masking import mask_passwords
from objects.cell_mapping import CellMapping
from objects.zones.zone_record import ChildZone
from programs.application import WithOptions, secret_in
from programs.display.output import Lister, ShowOne
from programs.operator.databases import open_api

COLUMNS = ("UUID", "Name", "Disabled", "Transport URL")

EXIT_UNKNOWN = 1
"""The cell or zone does not exist."""

TransportRecord = CellMapping | ChildZone


@dataclass(frozen=True, slots=True)
class RecordKind:
    """Cells or zones: the functions of their table, and exit codes for what prevents a removal."""

    name: str
    list_all: Callable[[Any], Sequence[TransportRecord]]
    get: Callable[[Any, str], TransportRecord]
    create: Callable[..., TransportRecord]
    update: Callable[..., TransportRecord]
    delete: Callable[..., None]
    exit_by_reason: Mapping[str, int]
    own_columns: Mapping[str, str] = field(default_factory=dict)
    """Title -> field of columns that only this kind has."""

    @property
    def columns(self) -> tuple[str, ...]:
        return (*COLUMNS, *self.own_columns)

    def row_of(self, record: TransportRecord) -> tuple[Any, ...]:
        own = (getattr(record, name) for name in self.own_columns.values())
        return (*row_of(record), *own)


class RecordCommand(WithOptions):
    """A command that uses the records of ``kind`` in the API database."""

    app: Any
    kind: RecordKind

    @cached_property
    def database(self) -> Database:
        return open_api(self.app.conf)

    def verify(self, transport_url: str, parsed_args: Namespace) -> None:
        """Check a URL before it is stored: a bad one would be tried by all services.

        Raises Invalid for a malformed one, and BrokerRefused unless ``--no-verify`` is given.
        """
        from rpc import broker_check  # its libraries take long to load

        broker_check.check_url(self.app.conf, transport_url)
        if not parsed_args.no_verify:
            advice = "; --no-verify stores the URL anyway"
            broker_check.try_broker(self.app.conf, transport_url, advice=advice)


class CreateRecord(RecordCommand, ShowOne):
    """Create a record."""

    name_help: str
    broker: str
    disabled_help: str

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help=self.name_help)
        add_transport_url(parser, f"transport URL of the {self.broker}", required=True)
        parser.add_argument("--disabled", action="store_true", help=self.disabled_help)
        parser.add_argument(
            "--if-missing", action="store_true", help="succeed if it already exists"
        )
        add_no_verify(parser)

    def take_action(self, parsed_args: Namespace) -> tuple[Any, Any]:
        present = self._find(parsed_args.name) if parsed_args.if_missing else None
        if present is not None:
            return self.kind.columns, self.kind.row_of(present)
        self.verify(parsed_args.transport_url, parsed_args)
        try:
            with self.database.writer() as session:
                record = self.create(
                    session,
                    parsed_args,
                    name=parsed_args.name,
                    transport_url=parsed_args.transport_url,
                    disabled=parsed_args.disabled,
                    now=datetime.now(UTC),
                )
        except exception.Exists:
            present = self._find(parsed_args.name) if parsed_args.if_missing else None
            if present is None:
                raise
            record = present
        return self.kind.columns, self.kind.row_of(record)

    def _find(self, wanted: str) -> TransportRecord | None:
        try:
            return self.database.read(self.kind.get, wanted)
        except exception.NotFound:
            return None

    def create(self, session: Any, parsed_args: Namespace, **values: Any) -> TransportRecord:
        """Create the record. Raises ``exception.Exists``."""
        return self.kind.create(session, **values)


class ListRecords(RecordCommand, Lister):
    """List the records; passwords are masked."""

    def take_action(self, parsed_args: Namespace) -> tuple[Any, Any]:
        with self.database.reader() as session:
            return self.kind.columns, [
                self.kind.row_of(record) for record in self.kind.list_all(session)
            ]


class UpdateRecord(RecordCommand, ShowOne):
    """Change a record."""

    changes: tuple[str, ...] = ("transport_url", "disabled")
    disable_help: str

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("wanted", metavar=self.kind.name, help="UUID or name")
        add_transport_url(parser, "new transport URL of its broker, or a new password in it")
        group = parser.add_mutually_exclusive_group()
        group.add_argument(
            "--disable", dest="disabled", action="store_const", const=True, help=self.disable_help
        )
        group.add_argument(
            "--enable",
            dest="disabled",
            action="store_const",
            const=False,
            help="accept new servers again",
        )
        add_no_verify(parser)

    def take_action(self, parsed_args: Namespace) -> tuple[Any, Any]:
        given = {name: getattr(parsed_args, name) for name in self.changes}
        values = {name: value for name, value in given.items() if value is not None}
        if not values:
            options = [f"--{name.replace('_', '-')}" for name in self.changes if name != "disabled"]
            raise exception.Invalid(
                reason=f"nothing to change: give {', '.join(options)}, --disable or --enable"
            )
        if "transport_url" in values:
            self.verify(values["transport_url"], parsed_args)
        with self.database.writer() as session:
            record = self.kind.update(session, parsed_args.wanted, values, now=datetime.now(UTC))
        return self.kind.columns, self.kind.row_of(record)


class RemoveRecord(RecordCommand):
    """Remove a record. The exit code tells what prevents it."""

    force_help: str

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("wanted", metavar=self.kind.name, help="UUID or name")
        parser.add_argument("--force", action="store_true", help=self.force_help)

    def take_action(self, parsed_args: Namespace) -> int:
        try:
            with self.database.writer() as session:
                self.kind.delete(session, parsed_args.wanted, force=parsed_args.force)
        except exception.NotFound as error:
            self.app.LOG.error(error)  # noqa: TRY400 - a line, no traceback
            return EXIT_UNKNOWN
        except exception.InUse as error:
            self.app.LOG.error(error)  # noqa: TRY400 - a line, no traceback
            return self.kind.exit_by_reason[error.kwargs["because"]]
        return 0


def add_transport_url(parser: ArgumentParser, text: str, *, required: bool = False) -> None:
    """Add the options for a transport URL: as an argument, which all of the machine see, or not."""
    given = parser.add_mutually_exclusive_group(required=required)
    given.add_argument(
        "--transport-url",
        metavar="URL",
        help=f"{text}; other accounts of this machine can see it while the command runs",
    )
    given.add_argument(
        "--transport-url-file",
        dest="transport_url",
        metavar="FILE",
        type=secret_in,
        help="file with that URL; '-' is standard input",
    )


def add_no_verify(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--no-verify", action="store_true", help="do not connect to the broker to try the URL"
    )


def row_of(record: TransportRecord) -> tuple[Any, ...]:
    url = mask_passwords(record.transport_url)
    return record.uuid, record.name, record.disabled, url
