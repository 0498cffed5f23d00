"""Server groups: affinity and anti-affinity between servers."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from armillary.table_columns import cells
from programs.commands import arguments
from programs.commands.base import ApiCommand, ApiLister, ApiShow
from programs.commands.lookup import find_group
from programs.http_client import Document

GROUPS = "os-server-groups"
POLICIES = ("affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity")


class CreateGroup(ApiShow):
    """Create a server group; servers join it with --hint group=GROUP."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("name", help="name")
        parser.add_argument("--policy", choices=POLICIES, required=True, help="policy")
        parser.add_argument(
            "--max-servers-per-host",
            metavar="N",
            type=arguments.positive,
            help="with anti-affinity: maximum number of members on one host (default: 1)",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        group: Document = {"name": parsed_args.name, "policy": parsed_args.policy}
        if parsed_args.max_servers_per_host:
            group["rules"] = {"max_server_per_host": parsed_args.max_servers_per_host}
        return _shown(self.api.post(GROUPS, body={"server_group": group})["server_group"])


class ListGroups(ApiLister):
    """List server groups."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--all-projects",
            action="store_true",
            help="list groups of all projects (administrators)",
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        query = {"all_projects": "true"} if parsed_args.all_projects else None
        rows = [
            cells((group["id"], group["name"], group["policy"], len(group["members"])))
            for group in self.items("server_groups", GROUPS, query=query)
        ]
        return ("ID", "Name", "Policy", "Members"), rows


class ShowGroup(ApiShow):
    """Show one server group with its members."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("group", help="id or name")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        return _shown(find_group(self.api, parsed_args.group))


class DeleteGroups(ApiCommand):
    """Delete server groups; their members keep running."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("groups", nargs="+", metavar="group", help="id or name")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        for group in [find_group(self.api, group)["id"] for group in parsed_args.groups]:
            self.api.delete(GROUPS, group)
        return 0


def _shown(group: Document) -> tuple[Sequence[str], Iterable[Any]]:
    fields = {
        "id": group["id"],
        "name": group["name"],
        "policy": group["policy"],
        "rules": group["rules"],
        "members": group["members"],
        "project": group["project_id"],
        "user": group["user_id"],
    }
    return tuple(fields), cells(fields.values())
