"""Services: list them, disable, enable or force down a host."""

from argparse import ArgumentParser, Namespace

from armillary import exception
from programs.commands import arguments, base
from programs.commands.lookup import find_service
from programs.http_client import Document

COLUMNS: base.Columns = {
    "Binary": "binary",
    "Status": "status",
    "State": lambda service: FORCED if service["forced_down"] else service["state"],
    "Host": "host",
    "Cell": "armillary:cell",
    "Seen": base.age("updated_at"),
    "Zone": "zone",
    "ID": base.short_id,
    "Reason": "disabled_reason",
}
LONG_COLUMNS: base.Columns = {
    **COLUMNS,
    "ID": "id",
    "Version": lambda service: service.get("armillary:version"),
    "Updated": "updated_at",
}
FORCED = "forced down"


class ListServices(base.ApiLister):
    """List services; those without a cell, its own conductor's among them, serve all cells."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", help="only services of this host")
        parser.add_argument(
            "--binary", "--service", help="only services of this program (or its name in Nova)"
        )
        parser.add_argument("--long", action="store_true", help="show more columns")

    def take_action(self, parsed_args: Namespace) -> base.Table:
        query = arguments.given(host=parsed_args.host or None, binary=parsed_args.binary or None)
        columns = LONG_COLUMNS if parsed_args.long else COLUMNS
        return base.table(columns, self.items("services", "os-services", query=query))


class SetService(base.ApiCommand):
    """Disable a host (its servers keep running), enable it, or force it down."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("service", help="host of a compute service, or id of the service")
        parser.add_argument("binary", nargs="?", help="the program, if it is another of the host")
        status = parser.add_mutually_exclusive_group()
        status.add_argument("--enable", action="store_true", help="accept new servers again")
        status.add_argument("--disable", action="store_true", help="accept no new servers")
        parser.add_argument("--reason", "--disable-reason", metavar="TEXT", help="why")
        state = parser.add_mutually_exclusive_group()
        state.add_argument("--down", action="store_true", help="force it down, whatever it reports")
        state.add_argument("--up", action="store_true", help="trust its reports again")

    def take_action(self, parsed_args: Namespace) -> int:
        changes = _changes(parsed_args)
        service = find_service(self.api, parsed_args.service, parsed_args.binary)["id"]
        self.api.put("os-services", service, body=changes)
        return 0


class DeleteServices(base.ApiCommand):
    """Delete services that are gone permanently, with their hosts and the hosts' resources."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "services", nargs="+", metavar="service",
            help="host of a compute service, or id of any service",
        )  # fmt: skip

    def take_action(self, parsed_args: Namespace) -> int:
        for found in [find_service(self.api, service) for service in parsed_args.services]:
            self.api.delete("os-services", found["id"])
        return 0


def _changes(parsed_args: Namespace) -> Document:
    changes: Document = {}
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
