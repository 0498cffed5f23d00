"""Services: list them, disable, enable or force down a host."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from armillary import exception
from armillary.table_columns import cells
from programs.commands.base import ApiCommand, ApiLister
from programs.commands.lookup import find_service
from programs.http_client import Document

COLUMNS = (
    "ID", "Binary", "Host", "Zone", "Status", "State", "Forced down", "Version", "Updated",
    "Reason",
)  # fmt: skip


class ListServices(ApiLister):
    """List services."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--host", help="only services of this host")
        parser.add_argument("--binary", help="only services of this program")
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        query = {"host": parsed_args.host, "binary": parsed_args.binary}
        query = {name: value for name, value in query.items() if value}
        services = self.items("services", "os-services", query=query)
        return COLUMNS, [_row(service) for service in services]


class SetService(ApiCommand):
    """Disable a host (its servers keep running), enable it, or force it down."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("service", help="host of a compute service, or id of the service")
        status = parser.add_mutually_exclusive_group()
        status.add_argument("--enable", action="store_true", help="accept new servers again")
        status.add_argument("--disable", action="store_true", help="accept no new servers")
        parser.add_argument("--reason", metavar="TEXT", help="reason for disabling it")
        state = parser.add_mutually_exclusive_group()
        state.add_argument("--down", action="store_true", help="force it down, whatever it reports")
        state.add_argument("--up", action="store_true", help="trust its reports again")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        changes = _changes(parsed_args)
        service = find_service(self.api, parsed_args.service)["id"]
        self.api.put("os-services", service, body=changes)
        return 0


class DeleteService(ApiCommand):
    """Delete a service that is gone permanently, with its host and the host's resources."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("service", help="host of a compute service, or id of any service")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        self.api.delete("os-services", find_service(self.api, parsed_args.service)["id"])
        return 0


def _changes(parsed_args: argparse.Namespace) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if parsed_args.enable or parsed_args.disable:
        changes["status"] = "disabled" if parsed_args.disable else "enabled"
    if parsed_args.reason:
        if not parsed_args.disable:
            raise exception.Invalid("--reason requires --disable.")
        changes["disabled_reason"] = parsed_args.reason
    if parsed_args.down or parsed_args.up:
        changes["forced_down"] = parsed_args.down
    if not changes:
        raise exception.Invalid("Nothing to change: give --enable, --disable, --up or --down.")
    return changes


def _row(service: Document) -> tuple[Any, ...]:
    return cells(
        (
            service["id"],
            service["binary"],
            service["host"],
            service["zone"],
            service["status"],
            service["state"],
            service["forced_down"],
            service.get("armillary:version"),
            service["updated_at"],
            service["disabled_reason"],
        )
    )
