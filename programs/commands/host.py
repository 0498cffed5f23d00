"""Hosts: resources, usage and servers."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from armillary.table_columns import Used, cells
from programs.commands.base import ApiLister, ApiShow
from programs.commands.lookup import find_hypervisor
from programs.http_client import Document

COLUMNS = ("Host", "Type", "Zone", "State", "Status", "Servers", "VCPUs", "RAM MiB", "Disk GiB")


class ListHosts(ApiLister):
    """List hosts with their usage."""

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        return COLUMNS, [_row(node) for node in self.items("hypervisors", *HYPERVISORS)]


class ShowHost(ApiShow):
    """Show one host: its resources, traits and servers."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("host", help="name, or id of its hypervisor")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        found = find_hypervisor(self.api, parsed_args.host)
        fields = _fields(self.api.get("os-hypervisors", found["id"])["hypervisor"])
        return tuple(fields), cells(fields.values())


HYPERVISORS = ("os-hypervisors", "detail")


def _row(node: Document) -> tuple[Any, ...]:
    return cells(
        (
            node["service"]["host"],
            node["hypervisor_type"],
            node["armillary:availability_zone"],
            node["state"],
            node["status"],
            node["running_vms"],
            Used(node["vcpus_used"], node["vcpus"]),
            Used(node["memory_mb_used"], node["memory_mb"]),
            Used(node["local_gb_used"], node["local_gb"]),
        )
    )


def _fields(node: Document) -> dict[str, Any]:
    return {
        "host": node["service"]["host"],
        "node": node["hypervisor_hostname"],
        "id": node["id"],
        "type": node["hypervisor_type"],
        "address": node["host_ip"],
        "state": node["state"],
        "status": node["status"],
        "disabled_reason": node["service"]["disabled_reason"],
        "availability_zone": node["armillary:availability_zone"],
        "cell": node["armillary:cell_uuid"],
        "resources": _resources(node["armillary:usages"]),
        "traits": node["armillary:traits"],
        "servers": {server["uuid"]: server["name"] for server in node["servers"]},
        "updated": node["armillary:updated_at"],
    }


def _resources(usages: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return used amount and capacity per resource class, with the formula."""
    return {
        name: f"{usage['used']:g} of {usage['capacity']:g} "
        f"((total {usage['total']:g} - reserved {usage['reserved']:g}) "
        f"x {usage['allocation_ratio']:g})"
        for name, usage in usages.items()
    }
