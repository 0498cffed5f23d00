"""Flavors: the sizes of servers."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from armillary import exception
from programs.commands import arguments, base
from programs.commands.lookup import find_flavor
from programs.http_client import ApiClient, Document

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
LONG_COLUMNS: base.Columns = {
    **COLUMNS,
    "ID": "id",
    "Public": "os-flavor-access:is_public",
    "Description": "description",
}
SIZES = (
    ("--disk", arguments.gibibytes, "GIB", "disk in GiB, or with a unit: 2T"),
    ("--ephemeral", arguments.gibibytes, "GIB", "ephemeral disk in GiB, or with a unit"),
    ("--swap", arguments.mebibytes, "MIB", "swap in MiB, or with a unit"),
)


class CreateFlavor(base.ApiShow):
    """Create a flavor."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="name")
        parser.add_argument("--id", help="id (default: a new UUID)")
        parser.add_argument(
            "--vcpus", metavar="N", type=arguments.positive, default=1,
            help="number of vCPUs (default: %(default)s)",
        )  # fmt: skip
        parser.add_argument(
            "--ram", metavar="MIB", type=arguments.mebibytes, required=True,
            help="memory in MiB, or with a unit: 512M, 4G",
        )  # fmt: skip
        for option, kind, metavar, what in SIZES:
            parser.add_argument(option, metavar=metavar, type=kind, default=0, help=what)
        _add_visibility(parser)
        parser.add_argument("--project", metavar="ID", help="project that may use it (--private)")
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
            "os-flavor-access:is_public": parsed_args.public is not False,
        }
        if parsed_args.project and body["os-flavor-access:is_public"]:
            raise exception.Invalid("--project requires --private.")
        flavor = self.api.post("flavors", body={"flavor": body})["flavor"]
        path = ("flavors", flavor["id"])
        with base.removed_on_failure(self.api, *path):
            if parsed_args.properties:
                body = {"extra_specs": dict(parsed_args.properties)}
                answer = self.api.post(*path, "os-extra_specs", body=body)
                flavor["extra_specs"] = answer["extra_specs"]
            if parsed_args.project:
                _change_access(self.api, flavor["id"], "addTenantAccess", parsed_args.project)
        return base.record(FLAVOR.fields, flavor)


class ListFlavors(base.ApiLister):
    """List flavors."""

    def add_options(self, parser: ArgumentParser) -> None:
        _add_visibility(parser)
        parser.add_argument(
            "--all", action="store_true", help="public and private flavors (administrators)"
        )
        parser.add_argument(
            "--min-ram", metavar="MIB", type=arguments.mebibytes,
            help="only flavors with this memory at least, in MiB or with a unit",
        )  # fmt: skip
        parser.add_argument(
            "--min-disk", metavar="GIB", type=arguments.gibibytes,
            help="only flavors with this disk at least, in GiB or with a unit",
        )  # fmt: skip
        parser.add_argument("--long", action="store_true", help="show more columns")

    def take_action(self, parsed_args: Namespace) -> base.Table:
        query = arguments.given(
            is_public="none" if parsed_args.all else parsed_args.public,
            minRam=parsed_args.min_ram,
            minDisk=parsed_args.min_disk,
        )
        columns = LONG_COLUMNS if parsed_args.long else COLUMNS
        return base.table(columns, self.items("flavors", "flavors", "detail", query=query))


class ShowFlavor(base.ShowNamed):
    """Show one flavor."""

    noun = FLAVOR


class SetFlavor(base.ApiCommand):
    """Set or remove properties (extra specs) of a flavor; existing servers keep theirs."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("flavor", help="id or name")
        arguments.add_pairs(parser, "--property", "properties", EXTRA_SPEC)
        arguments.add_list(parser, "--no-property", "removed", "KEY", "property to remove")
        parser.add_argument("--description", metavar="TEXT", help="new description")
        parser.add_argument("--project", metavar="ID", help="let this project use a private flavor")

    def take_action(self, parsed_args: Namespace) -> int:
        changes = (
            parsed_args.properties, parsed_args.removed, parsed_args.project,
            parsed_args.description is not None,
        )  # fmt: skip
        if not any(changes):
            raise exception.Invalid(
                "Nothing to change: give --property, --no-property, --description or --project."
            )
        flavor = find_flavor(self.api, parsed_args.flavor)["id"]
        if parsed_args.description is not None:
            body = {"flavor": {"description": parsed_args.description}}
            self.api.put("flavors", flavor, body=body)
        if parsed_args.properties:
            body = {"extra_specs": dict(parsed_args.properties)}
            self.api.post("flavors", flavor, "os-extra_specs", body=body)
        _remove_properties(self.api, flavor, parsed_args.removed)
        if parsed_args.project:
            _change_access(self.api, flavor, "addTenantAccess", parsed_args.project)
        return 0


class UnsetFlavor(base.ApiCommand):
    """Remove properties (extra specs) of a flavor, or the access of a project."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("flavor", help="id or name")
        arguments.add_list(parser, "--property", "removed", "KEY", "property to remove")
        parser.add_argument("--project", metavar="ID", help="project that may no longer use it")

    def take_action(self, parsed_args: Namespace) -> int:
        if not (parsed_args.removed or parsed_args.project):
            raise exception.Invalid("Nothing to change: give --property or --project.")
        flavor = find_flavor(self.api, parsed_args.flavor)["id"]
        _remove_properties(self.api, flavor, parsed_args.removed)
        if parsed_args.project:
            _change_access(self.api, flavor, "removeTenantAccess", parsed_args.project)
        return 0


class DeleteFlavors(base.DeleteNamed):
    """Delete flavors; existing servers keep theirs."""

    noun = FLAVOR


def _add_visibility(parser: ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--public", action="store_const", const=True, help="for all projects (default)"
    )
    group.add_argument(
        "--private", dest="public", action="store_const", const=False,
        help="for projects that are given access (administrators)",
    )  # fmt: skip


def _remove_properties(api: ApiClient, flavor: str, keys: Sequence[str]) -> None:
    for key in keys:
        api.delete("flavors", flavor, "os-extra_specs", key)


def _change_access(api: ApiClient, flavor: str, action: str, project: str) -> None:
    api.post("flavors", flavor, "action", body={action: {"tenant": project}})
