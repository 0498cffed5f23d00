"""Aggregates: sets of hosts, their metadata and their availability zone."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from armillary import exception
from armillary.table_columns import cells
from programs.commands import arguments
from programs.commands.base import ApiCommand, ApiLister, ApiShow
from programs.commands.lookup import find_aggregate
from programs.http_client import Document

AGGREGATES = "os-aggregates"


class CreateAggregate(ApiShow):
    """Create an aggregate without hosts."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("name", help="name")
        parser.add_argument("--zone", help="availability zone of its hosts")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        aggregate = {"name": parsed_args.name, "availability_zone": parsed_args.zone}
        return _shown(self.api.post(AGGREGATES, body={"aggregate": aggregate})["aggregate"])


class ListAggregates(ApiLister):
    """List aggregates."""

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        rows = [
            cells(
                (
                    aggregate["id"],
                    aggregate["name"],
                    aggregate["availability_zone"],
                    aggregate["hosts"],
                    aggregate["metadata"],
                )
            )
            for aggregate in self.items("aggregates", AGGREGATES)
        ]
        return ("ID", "Name", "Zone", "Hosts", "Properties"), rows


class ShowAggregate(ApiShow):
    """Show one aggregate."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        return _with_aggregate(super().get_parser(prog_name))

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        return _shown(find_aggregate(self.api, parsed_args.aggregate))


class SetAggregate(ApiCommand):
    """Change an aggregate's name, zone or properties."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = _with_aggregate(super().get_parser(prog_name))
        parser.add_argument("--name", help="new name")
        parser.add_argument("--zone", help="new availability zone of its hosts")
        parser.add_argument(
            "--property",
            metavar="KEY=VALUE",
            dest="properties",
            action="append",
            default=[],
            type=arguments.pair,
            help="property to set; may be repeated",
        )
        parser.add_argument(
            "--no-property",
            metavar="KEY",
            dest="removed",
            action="append",
            default=[],
            help="property to remove; may be repeated",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        changes = {"name": parsed_args.name, "availability_zone": parsed_args.zone}
        changes = {key: value for key, value in changes.items() if value is not None}
        metadata = {**dict(parsed_args.properties), **dict.fromkeys(parsed_args.removed)}
        if not changes and not metadata:
            raise exception.Invalid("Nothing to change.")
        aggregate = _id(find_aggregate(self.api, parsed_args.aggregate))
        if changes:
            self.api.put(AGGREGATES, aggregate, body={"aggregate": changes})
        if metadata:
            body = {"set_metadata": {"metadata": metadata}}
            self.api.post(AGGREGATES, aggregate, "action", body=body)
        return 0


class DeleteAggregates(ApiCommand):
    """Delete aggregates that have no hosts."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("aggregates", nargs="+", metavar="aggregate", help="id or name")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        for found in [find_aggregate(self.api, name) for name in parsed_args.aggregates]:
            self.api.delete(AGGREGATES, _id(found))
        return 0


class AddAggregateHost(ApiShow):
    """Add a host to an aggregate."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        return _with_host(super().get_parser(prog_name))

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        aggregate = _id(find_aggregate(self.api, parsed_args.aggregate))
        body = {"add_host": {"host": parsed_args.host}}
        return _shown(self.api.post(AGGREGATES, aggregate, "action", body=body)["aggregate"])


class RemoveAggregateHost(ApiShow):
    """Remove a host from an aggregate."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        return _with_host(super().get_parser(prog_name))

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        aggregate = _id(find_aggregate(self.api, parsed_args.aggregate))
        body = {"remove_host": {"host": parsed_args.host}}
        return _shown(self.api.post(AGGREGATES, aggregate, "action", body=body)["aggregate"])


def _with_aggregate(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("aggregate", help="id or name")
    return parser


def _with_host(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    _with_aggregate(parser).add_argument("host", help="name of the host")
    return parser


def _id(aggregate: Document) -> str:
    return str(aggregate["id"])


def _shown(aggregate: Document) -> tuple[Sequence[str], Iterable[Any]]:
    fields = {
        "id": aggregate["id"],
        "uuid": aggregate["uuid"],
        "name": aggregate["name"],
        "availability_zone": aggregate["availability_zone"],
        "hosts": aggregate["hosts"],
        "properties": aggregate["metadata"],
        "created": aggregate["created_at"],
        "updated": aggregate["updated_at"],
    }
    return tuple(fields), cells(fields.values())
