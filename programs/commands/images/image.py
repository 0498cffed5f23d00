"""Images: what servers run. For the process driver, a command line and its environment."""

import contextlib
import json
import shlex
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from programs.commands import arguments, base
from programs.commands.images import image_upload
from programs.commands.lookup import find_image
from programs.http_client import Document

COMMAND = "process_command"
ENVIRONMENT = "process_environment"
RESTART = "process_restart"
RESTARTS = ("never", "on-failure", "always")
HYPERVISOR_TYPE = "img_hv_type"
PROCESS = "process"

IMAGE = base.Noun(
    "image",
    "images",
    find_image,
    {
        "id": "id",
        "name": "name",
        "status": "status",
        "disk_format": "disk_format",
        "min_ram_mb": "minRam",
        "min_disk_gb": "minDisk",
        "properties": "properties",
        "created": "created",
    },
)
COLUMNS: base.Columns = {
    "Name": "name",
    "Status": "status",
    "Age": base.age("created"),
    "Min RAM": "minRam",
    "Min disk": "minDisk",
    "Properties": "properties",
    "ID": base.short_id,
}


class CreateImage(base.ApiShow):
    """Create an image; with a file, its data is uploaded to the image service."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="name")
        parser.add_argument("--id", help="UUID (default: a new one)")
        parser.add_argument(
            "--file", metavar="FILE", type=Path,
            help="file with the data of the image, such as the disk of a virtual machine",
        )  # fmt: skip
        parser.add_argument(
            "--disk-format", choices=image_upload.DISK_FORMATS,
            help="format of the data (default: what the file is)",
        )  # fmt: skip
        parser.add_argument(
            "--command",
            metavar="'COMMAND ARGUMENTS'",
            type=_command_line,
            help="program to run, in shell quoting (not run by a shell); requires hosts of the "
            f"process driver ({HYPERVISOR_TYPE}={PROCESS}) unless --property says otherwise",
        )
        arguments.add_pairs(parser, "--env", "env", "environment variable of the program")
        parser.add_argument(
            "--restart", choices=RESTARTS, help="restart policy for a program that ends by itself"
        )
        example = f"property, such as {HYPERVISOR_TYPE}=simulated"
        arguments.add_pairs(parser, "--property", "properties", example)
        parser.add_argument(
            "--min-ram", metavar="MIB", type=arguments.mebibytes, default=0,
            help="minimum memory of a flavor in MiB, or with a unit: 4G",
        )  # fmt: skip
        parser.add_argument(
            "--min-disk", metavar="GIB", type=arguments.gibibytes, default=0,
            help="minimum disk of a flavor in GiB, or with a unit: 2T",
        )  # fmt: skip

    def take_action(self, parsed_args: Namespace) -> base.Record:
        image: Document = {
            "name": parsed_args.name,
            "minRam": parsed_args.min_ram,
            "minDisk": parsed_args.min_disk,
            "properties": _properties(parsed_args),
        }
        if parsed_args.id:
            image["id"] = parsed_args.id
        if parsed_args.file is not None:
            return self._upload(parsed_args, image)
        if parsed_args.disk_format:
            image["disk_format"] = parsed_args.disk_format
        return base.record(IMAGE.fields, self.api.post("images", body={"image": image})["image"])

    def _upload(self, parsed_args: Namespace, image: Document) -> base.Record:
        service = self.application.client(image_upload.IMAGE_SERVICE)
        with contextlib.closing(service):
            image_id = image_upload.upload(
                service, parsed_args.file, image, parsed_args.disk_format
            )
        return base.record(IMAGE.fields, self.api.get("images", image_id)["image"])


class ListImages(base.ApiLister):
    """List images."""

    def take_action(self, parsed_args: Namespace) -> base.Table:
        return base.table(COLUMNS, self.items("images", "images", "detail"))


class ShowImage(base.ShowNamed):
    """Show one image."""

    noun = IMAGE


class DeleteImages(base.DeleteNamed):
    """Delete images; existing servers keep what they were built from."""

    noun = IMAGE


def _command_line(text: str) -> str:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{error} in: {text}") from None
    if not words:
        raise ArgumentTypeError("the command line names no program")
    return text


def _properties(parsed_args: Namespace) -> dict[str, str]:
    properties = dict(parsed_args.properties)
    if parsed_args.command:
        properties[COMMAND] = parsed_args.command
        properties.setdefault(HYPERVISOR_TYPE, PROCESS)
    if parsed_args.env:
        properties[ENVIRONMENT] = json.dumps(dict(parsed_args.env))
    if parsed_args.restart:
        properties[RESTART] = parsed_args.restart
    return properties
