"""Flavors: the sizes of servers."""

from argparse import ArgumentParser, Namespace

from armillary import exception
from programs.commands import arguments, base
from programs.commands.lookup import find_flavor
from programs.http_client import Document

EPHEMERAL = "OS-FLV-EXT-DATA:ephemeral"
EXTRA_SPEC = "extra spec, such as trait:HW_CPU_X86_AVX2=required"


def _swap_mb(flavor: Document) -> int:
    return flavor["swap"] or 0


FLAVOR = base.Noun(
    "flavor",
    "flavors",
    find_flavor,
    {
        "id": "id",
        "name": "name",
        "vcpus": "vcpus",
        "ram_mb": "ram",
        "disk_gb": "disk",
        "ephemeral_gb": EPHEMERAL,
        "swap_mb": _swap_mb,
        "description": "description",
        "properties": "extra_specs",
    },
)
COLUMNS: base.Columns = {
    "Name": "name",
    "VCPUs": "vcpus",
    "RAM": "ram",
    "Disk": "disk",
    "Ephemeral": EPHEMERAL,
    "Swap": _swap_mb,
    "Properties": "extra_specs",
    "ID": base.short_id,
}


class CreateFlavor(base.ApiShow):
    """Create a flavor."""

    def add_options(self, parser: ArgumentParser) -> None:
        size = arguments.not_negative
        parser.add_argument("name", help="name")
        parser.add_argument("--id", help="id (default: a new UUID)")
        parser.add_argument(
            "--vcpus", metavar="N", type=arguments.positive, default=1,
            help="number of vCPUs (default: %(default)s)",
        )  # fmt: skip
        parser.add_argument(
            "--ram", metavar="MIB", type=arguments.positive, required=True, help="memory in MiB"
        )
        parser.add_argument("--disk", metavar="GIB", type=size, default=0, help="disk in GiB")
        parser.add_argument(
            "--ephemeral", metavar="GIB", type=size, default=0, help="ephemeral disk in GiB"
        )
        parser.add_argument("--swap", metavar="MIB", type=size, default=0, help="swap in MiB")
        parser.add_argument("--description", metavar="TEXT", help="description")
        arguments.add_pairs(parser, "--property", "properties", EXTRA_SPEC)

    def take_action(self, parsed_args: Namespace) -> base.Record:
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
        return base.record(FLAVOR.fields, flavor)


class ListFlavors(base.ApiLister):
    """List flavors."""

    def take_action(self, parsed_args: Namespace) -> base.Table:
        return base.table(COLUMNS, self.items("flavors", "flavors", "detail"))


class ShowFlavor(base.ShowNamed):
    """Show one flavor."""

    noun = FLAVOR


class SetFlavor(base.ApiCommand):
    """Set or remove properties (extra specs) of a flavor; existing servers keep theirs."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("flavor", help="id or name")
        arguments.add_pairs(parser, "--property", "properties", EXTRA_SPEC)
        arguments.add_list(parser, "--no-property", "removed", "KEY", "property to remove")

    def take_action(self, parsed_args: Namespace) -> int:
        if not (parsed_args.properties or parsed_args.removed):
            raise exception.Invalid("Nothing to change: give --property or --no-property.")
        path = ("flavors", find_flavor(self.api, parsed_args.flavor)["id"], "os-extra_specs")
        if parsed_args.properties:
            self.api.post(*path, body={"extra_specs": dict(parsed_args.properties)})
        for key in parsed_args.removed:
            self.api.delete(*path, key)
        return 0


class DeleteFlavors(base.DeleteNamed):
    """Delete flavors; existing servers keep theirs."""

    noun = FLAVOR
