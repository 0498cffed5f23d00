"""Flavors: the sizes of servers."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from armillary import exception
from armillary.table_columns import cells
from programs.commands import arguments
from programs.commands.base import ApiCommand, ApiLister, ApiShow
from programs.commands.lookup import find_flavor
from programs.http_client import Document

EPHEMERAL = "OS-FLV-EXT-DATA:ephemeral"


class CreateFlavor(ApiShow):
    """Create a flavor."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("name", help="name")
        parser.add_argument("--id", help="id (default: a new UUID)")
        parser.add_argument("--vcpus", metavar="N", type=arguments.positive, default=1)
        parser.add_argument("--ram", metavar="MIB", type=arguments.positive, required=True)
        parser.add_argument("--disk", metavar="GIB", type=arguments.not_negative, default=0)
        parser.add_argument("--ephemeral", metavar="GIB", type=arguments.not_negative, default=0)
        parser.add_argument("--swap", metavar="MIB", type=arguments.not_negative, default=0)
        parser.add_argument("--description", metavar="TEXT")
        _add_property_option(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        body = {
            "name": parsed_args.name,
            "id": parsed_args.id,
            "vcpus": parsed_args.vcpus,
            "ram": parsed_args.ram,
            "disk": parsed_args.disk,
            EPHEMERAL: parsed_args.ephemeral,
            "swap": parsed_args.swap,
            "description": parsed_args.description,
        }
        flavor = self.api.post("flavors", body={"flavor": body})["flavor"]
        if parsed_args.properties:
            extra_specs = dict(parsed_args.properties)
            path = ("flavors", flavor["id"], "os-extra_specs")
            answer = self.api.post(*path, body={"extra_specs": extra_specs})
            flavor["extra_specs"] = answer["extra_specs"]
        return _shown(flavor)


class ListFlavors(ApiLister):
    """List flavors."""

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        columns = ("ID", "Name", "VCPUs", "RAM", "Disk", "Ephemeral", "Swap", "Properties")
        rows = [
            cells(
                (
                    flavor["id"],
                    flavor["name"],
                    flavor["vcpus"],
                    flavor["ram"],
                    flavor["disk"],
                    flavor[EPHEMERAL],
                    flavor["swap"] or 0,
                    flavor["extra_specs"],
                )
            )
            for flavor in self.items("flavors", "flavors", "detail")
        ]
        return columns, rows


class ShowFlavor(ApiShow):
    """Show one flavor."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("flavor", help="id or name")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        return _shown(find_flavor(self.api, parsed_args.flavor))


class SetFlavor(ApiCommand):
    """Set or remove properties (extra specs) of a flavor; existing servers keep theirs."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("flavor", help="id or name")
        _add_property_option(parser)
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
        if not (parsed_args.properties or parsed_args.removed):
            raise exception.Invalid("Nothing to change.")
        path = ("flavors", find_flavor(self.api, parsed_args.flavor)["id"], "os-extra_specs")
        if parsed_args.properties:
            self.api.post(*path, body={"extra_specs": dict(parsed_args.properties)})
        for key in parsed_args.removed:
            self.api.delete(*path, key)
        return 0


class DeleteFlavors(ApiCommand):
    """Delete flavors; existing servers keep theirs."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("flavors", nargs="+", metavar="flavor", help="id or name")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        for flavor in [find_flavor(self.api, flavor)["id"] for flavor in parsed_args.flavors]:
            self.api.delete("flavors", flavor)
        return 0


def _add_property_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--property",
        metavar="KEY=VALUE",
        dest="properties",
        action="append",
        default=[],
        type=arguments.pair,
        help="extra spec, such as trait:HW_CPU_X86_AVX2=required; may be repeated",
    )


def _shown(flavor: Document) -> tuple[Sequence[str], Iterable[Any]]:
    fields = {
        "id": flavor["id"],
        "name": flavor["name"],
        "vcpus": flavor["vcpus"],
        "ram_mb": flavor["ram"],
        "disk_gb": flavor["disk"],
        "ephemeral_gb": flavor[EPHEMERAL],
        "swap_mb": flavor["swap"] or 0,
        "description": flavor["description"],
        "properties": flavor["extra_specs"],
    }
    return tuple(fields), cells(fields.values())
