"""Quotas: how much a project may have, and has."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from armillary import exception
from armillary.cli.commands import arguments
from armillary.cli.commands.base import ApiLister
from armillary.cli.commands.columns import cells

QUOTAS = "os-quota-sets"

OPTIONS: dict[str, str] = {
    # resource -> what it is; the option is called like the resource
    "instances": "servers",
    "cores": "vCPUs of all servers together",
    "ram": "MiB of memory of all servers together",
    "server_groups": "server groups",
    "server_group_members": "servers in one server group",
}

LIMITS: dict[str, tuple[str, str | None]] = {
    # resource -> its limit and its usage, as the API calls them
    "instances": ("maxTotalInstances", "totalInstancesUsed"),
    "cores": ("maxTotalCores", "totalCoresUsed"),
    "ram": ("maxTotalRAMSize", "totalRAMUsed"),
    "server_groups": ("maxServerGroups", "totalServerGroupsUsed"),
    "server_group_members": ("maxServerGroupMembers", None),
}


class ShowQuota(ApiLister):
    """Show what a project may have (-1 is without limit) and what it has."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("project", nargs="?", help="its id; your own unless given")
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
    """Set what a project may have; -1 is without limit. What is not named stays as it is."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("project", help="its id")
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
            raise exception.Invalid("No limit is given.")
        answer = self.api.put(QUOTAS, parsed_args.project, body={"quota_set": limits})["quota_set"]
        rows = [cells((name, limit)) for name, limit in answer.items() if name != "id"]
        return ("Resource", "Limit"), rows
