"""Hosts: resources, usage and servers."""

from argparse import ArgumentParser, Namespace

from armillary.table_columns import Used
from programs.commands import base
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


COLUMNS: base.Columns = {
    "Host": _host,
    "Type": "hypervisor_type",
    "Zone": ZONE,
    "State": "state",
    "Status": "status",
    "Servers": "running_vms",
    "VCPUs": lambda node: Used(node["vcpus_used"], node["vcpus"]),
    "RAM MiB": lambda node: Used(node["memory_mb_used"], node["memory_mb"]),
    "Disk GiB": lambda node: Used(node["local_gb_used"], node["local_gb"]),
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

    def take_action(self, parsed_args: Namespace) -> base.Table:
        return base.table(COLUMNS, self.items("hypervisors", *HYPERVISORS))


class ShowHost(base.ApiShow):
    """Show one host: its resources, traits and servers."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("host", help="name, or id of its hypervisor")

    def take_action(self, parsed_args: Namespace) -> base.Record:
        found = find_hypervisor(self.api, parsed_args.host)
        answer = self.api.get("os-hypervisors", found["id"], query={"with_servers": "true"})
        return base.record(FIELDS, answer["hypervisor"])
