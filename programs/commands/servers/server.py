"""Servers: what is shown of them; show and delete."""

import logging
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any

from programs.access.errors import ApiNotFound
from programs.commands import arguments, base, wait
from programs.commands.lookup import UNKNOWN, find_server
from programs.commands.servers.failures import last_failure
from programs.http_client import Document

LOG = logging.getLogger(__name__)

STATUSES = (
    "ACTIVE", "BUILD", "ERROR", "PAUSED", "RESCUE", "SHELVED", "SHELVED_OFFLOADED", "SHUTOFF",
    "SOFT_DELETED", "SUSPENDED", "VERIFY_RESIZE",
)  # fmt: skip
POWER_STATES = {0: None, 1: "running", 3: "paused", 4: "shutdown", 6: "crashed"}

HOST = "OS-EXT-SRV-ATTR:host"
NODE = "OS-EXT-SRV-ATTR:hypervisor_hostname"
TASK = "OS-EXT-STS:task_state"


def fault(server: Document) -> str:
    """Return why a server is in ERROR, as shown to users."""
    return str(server.get("fault", {}).get("message", "No reason was recorded."))


def _power_state(server: Document) -> str | None:
    return POWER_STATES.get(server.get("OS-EXT-STS:power_state", 0))


def _image_id(server: Document) -> str | None:
    return server["image"]["id"] if server.get("image") else None


def _flavor(field: str) -> Callable[[Document], Any]:
    return lambda server: (server.get("flavor") or {}).get(field)


_flavor_name = _flavor("original_name")


COLUMNS: base.Columns = {
    "Name": "name",
    "Status": "status",
    "Host": lambda server: server.get(HOST),
    "Age": base.age("created"),
    "Task": TASK,
    "Flavor": _flavor_name,
    "ID": base.short_id,
}
BUILT_COLUMNS: base.Columns = {**COLUMNS, "Attempt": "armillary:attempt"}
LONG_COLUMNS: base.Columns = {
    **BUILT_COLUMNS,
    "ID": "id",
    "Created": "created",
    "Node": lambda server: server.get(NODE),
    "Zone": "OS-EXT-AZ:availability_zone",
    "Power": _power_state,
    "Image": _image_id,
    "Properties": "metadata",
    "Project": "tenant_id",
    "Reservation": "OS-EXT-SRV-ATTR:reservation_id",
    "Fault": lambda server: fault(server) if server["status"] == "ERROR" else None,
    "In zone": lambda server: server.get("armillary:zone"),
}
SERVER = base.Noun(
    "server",
    "servers",
    find_server,
    {
        "id": "id",
        "name": "name",
        "status": "status",
        "task_state": TASK,
        "power_state": _power_state,
        "fault": lambda server: fault(server) if "fault" in server else None,
        "last_failure": lambda server: server.get("last_failure"),
        "host": lambda server: server.get(HOST),
        "node": lambda server: server.get(NODE),
        "zone": lambda server: server.get("armillary:zone"),
        "availability_zone": "OS-EXT-AZ:availability_zone",
        "pinned_zone": "pinned_availability_zone",
        "hints": "armillary:scheduler_hints",
        "attempt": "armillary:attempt",
        "exit_code": "armillary:exit_code",
        "flavor": _flavor_name,
        "vcpus": _flavor("vcpus"),
        "ram_mb": _flavor("ram"),
        "disk_gb": _flavor("disk"),
        "image": _image_id,
        "properties": "metadata",
        "groups": "server_groups",
        "project": "tenant_id",
        "user": "user_id",
        "reservation_id": "OS-EXT-SRV-ATTR:reservation_id",
        "created": "created",
        "updated": "updated",
        "launched": "OS-SRV-USG:launched_at",
    },
)


class ShowServer(base.ShowNamed):
    """Show one server, and why its last action failed if it did."""

    noun = SERVER

    def take_action(self, parsed_args: Namespace) -> base.Record:
        server = find_server(self.api, parsed_args.wanted)
        has_fault = "fault" in server or server["status"] == UNKNOWN
        failure = None if has_fault else last_failure(self.api, server["id"])
        return base.record(SERVER.fields, {**server, "last_failure": failure})


class DeleteServers(base.ApiCommand):
    """Delete servers, in any state."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("servers", nargs="+", metavar="server", help="id or name")
        parser.add_argument(
            "--force", action="store_true", help="delete immediately, without soft delete"
        )
        arguments.add_wait(parser)

    def take_action(self, parsed_args: Namespace) -> int:
        found = [find_server(self.api, server)["id"] for server in parsed_args.servers]
        servers = list(dict.fromkeys(found))
        with self.progress("Deleting", len(servers), is_shown=parsed_args.wait) as show:
            for number, server in enumerate(servers):
                show(0, {"requested": number})
                self._delete(server, is_forced=parsed_args.force)
            if not parsed_args.wait:
                return 0
            wait.wait_until_gone(self.api, servers, wait.Pace(parsed_args.timeout), show)
        self.report(f"Deleted {len(servers)} of {len(servers)}")
        return 0

    def _delete(self, server: str, *, is_forced: bool) -> None:
        try:
            if is_forced:
                self.api.post("servers", server, "action", body={"forceDelete": None})
            else:
                self.api.delete("servers", server)
        except ApiNotFound:
            LOG.info("%s is already gone.", server)
