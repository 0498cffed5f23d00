"""Hosts: resources, usage and servers."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any

from armillary.table_columns import Used, cells
from programs.commands import arguments, base
from programs.commands.lookup import find_hypervisor
from programs.http_client import Document

HYPERVISORS = ("os-hypervisors", "detail")
ZONE = "armillary:availability_zone"


def _host(node: Document) -> str:
    return str(node["service"]["host"])


def _resources(node: Document) -> dict[str, str]:
    """Return used amount and capacity per resource class, with the formula."""
    return {
        name: f"{usage['used']:g} of {usage['capacity']:g} "
        f"((total {usage['total']:g} - reserved {usage['reserved']:g}) "
        f"x {usage['allocation_ratio']:g})"
        for name, usage in node["armillary:usages"].items()
    }


def _used(key: str, *classes: str, scale: float = 1) -> Callable[[Document], Used]:
    """Return the function of a column that shows what is used of the capacity of some classes.

    ``key`` names the total of the machine, for hosts of which placement knows nothing.
    """

    def used_of(node: Document) -> Used:
        usages = [usage for name, usage in node["armillary:usages"].items() if name in classes]
        used, total = (sum(usage[part] for usage in usages) for part in ("used", "capacity"))
        if not usages:
            used, total = node[f"{key}_used"], node[key]
        return Used(round(used * scale, 1), round(total * scale, 1))

    return used_of


COLUMNS: base.Columns = {
    "Host": _host,
    "Status": "status",
    "State": "state",
    "Servers": "running_vms",
    "VCPUs": _used("vcpus", "VCPU", "PCPU"),
    "RAM GiB": _used("memory_mb", "MEMORY_MB", scale=1 / 1024),
    "Disk GiB": _used("local_gb", "DISK_GB"),
    "Zone": ZONE,
    "Type": "hypervisor_type",
}
LONG_COLUMNS: base.Columns = {
    **COLUMNS,
    "Address": "host_ip",
    "Cell": "armillary:cell_uuid",
    "Reason": lambda node: node["service"]["disabled_reason"],
    "ID": "id",
}
FIELDS: base.Columns = {
    "host": _host,
    "node": "hypervisor_hostname",
    "id": "id",
    "type": "hypervisor_type",
    "address": "host_ip",
    "state": "state",
    "status": "status",
    "disabled_reason": lambda node: node["service"]["disabled_reason"],
    "availability_zone": ZONE,
    "cell": "armillary:cell_uuid",
    "resources": _resources,
    "isolation": "armillary:isolation",
    "traits": "armillary:traits",
    "servers": lambda node: {server["uuid"]: server["name"] for server in node["servers"]},
    "updated": "armillary:updated_at",
}


class ListHosts(base.ApiLister):
    """List hosts with their usage."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--matching", metavar="NAME", help="only hosts with this in the name")
        parser.add_argument("--long", action="store_true", help="show more columns")

    def take_action(self, parsed_args: Namespace) -> base.Table:
        query = arguments.given(hypervisor_hostname_pattern=parsed_args.matching)
        columns = LONG_COLUMNS if parsed_args.long else COLUMNS
        return base.table(columns, self.items("hypervisors", *HYPERVISORS, query=query))


class ShowHostStatistics(base.ApiShow):
    """Show the sums of all hosts: how many there are, what is used of what they have."""

    def take_action(self, parsed_args: Namespace) -> base.Record:
        nodes = list(self.items("hypervisors", *HYPERVISORS))
        usages = [item for node in nodes for item in node["armillary:usages"].items()]
        shown: dict[str, Any] = {
            "hosts": len(nodes),
            "up": sum(node["state"] == "up" for node in nodes),
            "enabled": sum(node["status"] == "enabled" for node in nodes),
            "servers": sum(node["running_vms"] for node in nodes),
        }
        for name in sorted({name for name, _usage in usages}):
            found = [usage for of, usage in usages if of == name]
            used, capacity = (sum(one[part] for one in found) for part in ("used", "capacity"))
            shown[name] = Used(used, capacity)
        return tuple(shown), cells(shown.values())


class ShowHost(base.ApiShow):
    """Show one host: its resources, traits and servers."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("host", help="name, or id of its hypervisor")

    def take_action(self, parsed_args: Namespace) -> base.Record:
        found = find_hypervisor(self.api, parsed_args.host)
        answer = self.api.get("os-hypervisors", found["id"], query={"with_servers": "true"})
        return base.record(FIELDS, answer["hypervisor"])
