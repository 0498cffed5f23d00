"""Quotas: limits and usage of a project."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from armillary import exception
from armillary.table_columns import cells
from programs.commands import arguments
from programs.commands.base import ApiLister

QUOTAS = "os-quota-sets"

OPTIONS: dict[str, str] = {
    # resource -> description; the option has the resource's name
    "instances": "servers",
    "cores": "total vCPUs of all servers",
    "ram": "total memory of all servers, in MiB",
    "server_groups": "server groups",
    "server_group_members": "servers in one server group",
}

LIMITS: dict[str, tuple[str, str | None]] = {
    # resource -> its limit and its usage, by their API names
    "instances": ("maxTotalInstances", "totalInstancesUsed"),
    "cores": ("maxTotalCores", "totalCoresUsed"),
    "ram": ("maxTotalRAMSize", "totalRAMUsed"),
    "server_groups": ("maxServerGroups", "totalServerGroupsUsed"),
    "server_group_members": ("maxServerGroupMembers", None),
}


class ShowQuota(ApiLister):
    """Show the limits (-1 is unlimited) and usage of a project."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("project", nargs="?", help="id of the project (default: your own)")
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        query = {"tenant_id": parsed_args.project} if parsed_args.project else None
        absolute = self.api.get("limits", query=query)["limits"]["absolute"]
        rows = [
            cells((resource, absolute.get(used), absolute.get(limit)))
            for resource, (limit, used) in LIMITS.items()
        ]
        return ("Resource", "Used", "Limit"), rows


class SetQuota(ApiLister):
    """Set limits of a project; -1 is unlimited. Other limits are unchanged."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("project", help="id of the project")
        for resource, what in OPTIONS.items():
            option = f"--{resource.replace('_', '-')}"
            parser.add_argument(option, metavar="N", type=arguments.limit, help=what)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        limits = {resource: getattr(parsed_args, resource) for resource in OPTIONS}
        limits = {resource: limit for resource, limit in limits.items() if limit is not None}
        if not limits:
            raise exception.Invalid("No limit given.")
        answer = self.api.put(QUOTAS, parsed_args.project, body={"quota_set": limits})["quota_set"]
        rows = [cells((name, limit)) for name, limit in answer.items() if name != "id"]
        return ("Resource", "Limit"), rows
