"""Names, metadata and tags of servers."""

from argparse import ArgumentParser, Namespace

from armillary import exception
from programs.commands import arguments, base
from programs.commands.lookup import find_server


class SetServer(base.ApiCommand):
    """Change the name, description, properties (metadata) or tags of a server."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("server", help="id or name")
        parser.add_argument("--name", help="new name")
        parser.add_argument("--description", metavar="TEXT", help="new description")
        arguments.add_pairs(parser, "--property", "properties", "metadata to set")
        arguments.add_list(parser, "--tag", "tags", "TAG", "tag to add")

    def take_action(self, parsed_args: Namespace) -> int:
        changes = arguments.given(name=parsed_args.name, description=parsed_args.description)
        if not (changes or parsed_args.properties or parsed_args.tags):
            raise exception.Invalid(
                "Nothing to change: give --name, --description, --property or --tag."
            )
        path = ("servers", find_server(self.api, parsed_args.server)["id"])
        if changes:
            self.api.put(*path, body={"server": changes})
        if parsed_args.properties:
            self.api.post(*path, "metadata", body={"metadata": dict(parsed_args.properties)})
        for tag in parsed_args.tags:
            self.api.put(*path, "tags", tag, body=None)
        return 0


class UnsetServer(base.ApiCommand):
    """Remove properties (metadata), tags or the description of a server."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("server", help="id or name")
        arguments.add_list(parser, "--property", "removed", "KEY", "property to remove")
        arguments.add_list(parser, "--tag", "tags", "TAG", "tag to remove")
        parser.add_argument("--description", action="store_true", help="remove the description")

    def take_action(self, parsed_args: Namespace) -> int:
        if not (parsed_args.removed or parsed_args.tags or parsed_args.description):
            raise exception.Invalid("Nothing to change: give --property, --tag or --description.")
        path = ("servers", find_server(self.api, parsed_args.server)["id"])
        for key in parsed_args.removed:
            self.api.delete(*path, "metadata", key)
        for tag in parsed_args.tags:
            self.api.delete(*path, "tags", tag)
        if parsed_args.description:
            self.api.put(*path, body={"server": {"description": None}})
        return 0
