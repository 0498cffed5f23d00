"""Images: what servers run. For the process driver, a command line and its environment."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from armillary.table_columns import cells
from programs.commands import arguments
from programs.commands.base import ApiCommand, ApiLister, ApiShow
from programs.commands.lookup import find_image
from programs.http_client import Document

COMMAND = "process_command"
ENVIRONMENT = "process_environment"
RESTART = "process_restart"
RESTARTS = ("never", "on-failure", "always")
HYPERVISOR_TYPE = "img_hv_type"
PROCESS = "process"


class CreateImage(ApiShow):
    """Create an image record."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("name", help="name")
        parser.add_argument("--id", help="UUID (default: a new one)")
        parser.add_argument(
            "--command",
            metavar="'COMMAND ARGUMENTS'",
            type=_command_line,
            help="program to run, in shell quoting (not run by a shell); implies hosts of the "
            f"process driver ({HYPERVISOR_TYPE}={PROCESS}) unless --property says otherwise",
        )
        parser.add_argument(
            "--env",
            metavar="KEY=VALUE",
            action="append",
            default=[],
            type=arguments.pair,
            help="environment variable of the program; may be repeated",
        )
        parser.add_argument(
            "--restart", choices=RESTARTS, help="restart policy for a program that ends by itself"
        )
        parser.add_argument(
            "--property",
            metavar="KEY=VALUE",
            dest="properties",
            action="append",
            default=[],
            type=arguments.pair,
            help=f"property, such as {HYPERVISOR_TYPE}=simulated; may be repeated",
        )
        parser.add_argument("--min-ram", metavar="MIB", type=arguments.not_negative, default=0)
        parser.add_argument("--min-disk", metavar="GIB", type=arguments.not_negative, default=0)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        image: Document = {
            "name": parsed_args.name,
            "minRam": parsed_args.min_ram,
            "minDisk": parsed_args.min_disk,
            "properties": _properties(parsed_args),
        }
        if parsed_args.id:
            image["id"] = parsed_args.id
        return _shown(self.api.post("images", body={"image": image})["image"])


class ListImages(ApiLister):
    """List images."""

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        columns = ("ID", "Name", "Min RAM", "Min disk", "Properties")
        rows = [
            cells(
                (image["id"], image["name"], image["minRam"], image["minDisk"], image["properties"])
            )
            for image in self.items("images", "images", "detail")
        ]
        return columns, rows


class ShowImage(ApiShow):
    """Show one image."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("image", help="id or name")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        return _shown(find_image(self.api, parsed_args.image))


class DeleteImages(ApiCommand):
    """Delete images; existing servers keep what they were built from."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("images", nargs="+", metavar="image", help="id or name")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        for image in [find_image(self.api, image)["id"] for image in parsed_args.images]:
            self.api.delete("images", image)
        return 0


def _command_line(text: str) -> str:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error} in: {text}") from None
    if not words:
        raise argparse.ArgumentTypeError("the command line names no program")
    return text


def _properties(parsed_args: argparse.Namespace) -> dict[str, str]:
    properties = dict(parsed_args.properties)
    if parsed_args.command:
        properties[COMMAND] = parsed_args.command
        properties.setdefault(HYPERVISOR_TYPE, PROCESS)
    if parsed_args.env:
        properties[ENVIRONMENT] = json.dumps(dict(parsed_args.env))
    if parsed_args.restart:
        properties[RESTART] = parsed_args.restart
    return properties


def _shown(image: Document) -> tuple[Sequence[str], Iterable[Any]]:
    fields = {
        "id": image["id"],
        "name": image["name"],
        "status": image["status"],
        "min_ram_mb": image["minRam"],
        "min_disk_gb": image["minDisk"],
        "properties": image["properties"],
        "created": image["created"],
    }
    return tuple(fields), cells(fields.values())
