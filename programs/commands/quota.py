"""Quotas: limits and usage of a project."""

from argparse import ArgumentParser, Namespace
from typing import NamedTuple

from armillary import exception
from armillary.table_columns import cells
from programs.commands import arguments, base


class _Quota(NamedTuple):
    """A limited resource: help of its option, API names of its limit and usage."""

    description: str
    limit: str
    used: str | None


QUOTAS = {
    "instances": _Quota("servers", "maxTotalInstances", "totalInstancesUsed"),
    "cores": _Quota("total vCPUs of all servers", "maxTotalCores", "totalCoresUsed"),
    "ram": _Quota(
        "memory of all servers in MiB, or with a unit: 512G", "maxTotalRAMSize", "totalRAMUsed"
    ),
    "server_groups": _Quota("server groups", "maxServerGroups", "totalServerGroupsUsed"),
    "server_group_members": _Quota("servers in one server group", "maxServerGroupMembers", None),
}
"""Resource -> its quota; the option has the resource's name."""


class ShowQuota(base.ApiLister):
    """Show the limits (-1 is unlimited) and usage of a project."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", nargs="?", help="id of the project (default: your own)")

    def take_action(self, parsed_args: Namespace) -> base.Table:
        query = {"tenant_id": parsed_args.project} if parsed_args.project else None
        absolute = self.api.get("limits", query=query)["limits"]["absolute"]
        rows = [
            cells((resource, absolute.get(quota.used), absolute.get(quota.limit)))
            for resource, quota in QUOTAS.items()
        ]
        return ("Resource", "Used", "Limit"), rows


class SetQuota(base.ApiLister):
    """Set limits of a project; -1 is unlimited. Other limits are unchanged."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="id of the project")
        for resource, quota in QUOTAS.items():
            option = f"--{resource.replace('_', '-')}"
            kind = arguments.mebibytes_limit if resource == "ram" else arguments.limit
            parser.add_argument(option, metavar="N", type=kind, help=quota.description)

    def take_action(self, parsed_args: Namespace) -> base.Table:
        limits = arguments.given(**{name: getattr(parsed_args, name) for name in QUOTAS})
        if not limits:
            raise exception.Invalid("No limit given.")
        path = ("os-quota-sets", parsed_args.project)
        answer = self.api.put(*path, body={"quota_set": {**limits, "force": True}})["quota_set"]
        rows = [cells((name, limit)) for name, limit in answer.items() if name != "id"]
        return ("Resource", "Limit"), rows
