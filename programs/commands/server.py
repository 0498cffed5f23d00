"""Servers: create, list, show and delete."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from armillary import exception
from armillary.table_columns import cells, printable
from programs.commands import arguments, wait
from programs.commands.base import ApiCommand, ApiLister, ApiShow
from programs.commands.lookup import find_flavor, find_group, find_image, find_server
from programs.commands.progress import progress
from programs.http_client import ApiNotFound, Document

LOG = logging.getLogger(__name__)

STATUSES = (
    "ACTIVE",
    "BUILD",
    "ERROR",
    "SHELVED",
    "SHELVED_OFFLOADED",
    "SHUTOFF",
    "SOFT_DELETED",
    "VERIFY_RESIZE",
)
POWER_STATES = {0: None, 1: "running", 4: "shutdown"}
WAIT_TIMEOUT_SECONDS = 300.0
PAGE_SIZE_MAX = 1000
FAULTS_SHOWN_MAX = 5
GROUP_HINT = "group"

HOST = "OS-EXT-SRV-ATTR:host"
TASK = "OS-EXT-STS:task_state"


class ServersFailed(exception.ArmillaryError):
    """Some servers ended in ERROR while waiting for them."""

    template = (
        "%(failed)s of %(total)s servers ended in ERROR. To see why: armillary explain %(server)s"
    )


class _Waits:
    """Options of commands that can wait."""

    @staticmethod
    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--wait", action="store_true", help="wait until it is done")
        parser.add_argument(
            "--timeout",
            metavar="SECONDS",
            type=arguments.seconds,
            default=WAIT_TIMEOUT_SECONDS,
            help="timeout of --wait in seconds (default: %(default)g)",
        )


class CreateServer(ApiLister):
    """Create one or several servers.

    Shows the accepted servers; with --wait, their final state.
    """

    _built: Sequence[Document] = ()

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("name", help="name; with several servers, a number is appended")
        parser.add_argument("--flavor", required=True, help="flavor (id or name)")
        parser.add_argument("--image", help="image (id or name)")
        parser.add_argument(
            "--availability-zone",
            metavar="ZONE",
            help="availability zone; administrators may use ZONE:HOST, which bypasses the filters",
        )
        parser.add_argument("--host", help="host; the filters still apply (administrators)")
        _add_networks(parser)
        _add_counts(parser)
        _add_pairs(parser)
        _Waits.add_options(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        accepted = self.api.post("servers", body=self._body(parsed_args))
        servers, reservation_id = accepted["armillary:servers"], accepted["reservation_id"]
        if parsed_args.wait:
            found = self._wait(servers, reservation_id, parsed_args)
        else:
            query = {"reservation_id": reservation_id}
            found = list(self.items("servers", "servers", "detail", query=query))
        self._built = sorted(found, key=_launch_order)
        return COLUMNS, [_row(server) for server in self._built]

    def run(self, parsed_args: argparse.Namespace) -> int:
        result = super().run(parsed_args)
        if parsed_args.wait:
            self._require_built()
        return result

    def _wait(
        self, servers: Sequence[str], reservation_id: str, parsed_args: argparse.Namespace
    ) -> list[Document]:
        quiet = self.application.options.verbose_level == 0
        pace = wait.Pace(parsed_args.timeout)
        title = f"Building {printable(parsed_args.name)}"
        with progress(self.application.stderr, title, len(servers), quiet=quiet) as show:
            return wait.wait_until_built(self.api, servers, reservation_id, pace, show)

    def _require_built(self) -> None:
        """Raise ``ServersFailed`` after printing the faults, unless all servers were built."""
        failed = [server for server in self._built if server["status"] == "ERROR"]
        for server in failed[:FAULTS_SHOWN_MAX]:
            LOG.error("%s: %s", printable(server["name"]), printable(fault_message(server)))
        if failed:
            raise ServersFailed(failed=len(failed), total=len(self._built), server=failed[0]["id"])

    def _body(self, parsed_args: argparse.Namespace) -> Document:
        server: Document = {
            "name": parsed_args.name,
            "flavorRef": find_flavor(self.api, parsed_args.flavor)["id"],
            "imageRef": find_image(self.api, parsed_args.image)["id"]
            if parsed_args.image
            else None,
            "availability_zone": parsed_args.availability_zone,
            "host": parsed_args.host,
            "networks": _networks(parsed_args),
            "min_count": parsed_args.min,
            "max_count": parsed_args.max,
            "metadata": dict(parsed_args.properties) or None,
        }
        body: Document = {"server": {key: value for key, value in server.items() if value}}
        hints = arguments.grouped(parsed_args.hints)
        if isinstance(group := hints.get(GROUP_HINT), str):
            hints[GROUP_HINT] = find_group(self.api, group)["id"]
        if hints:
            body["os:scheduler_hints"] = hints
        return body


class ListServers(ApiLister):
    """List servers, newest first."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--name", help="only servers whose name contains this")
        parser.add_argument(
            "--status", choices=STATUSES, type=str.upper, help="only servers with this status"
        )
        parser.add_argument("--host", help="only servers on this host (administrators)")
        parser.add_argument("--reservation-id", metavar="ID", help="only servers of this request")
        parser.add_argument(
            "--all-projects",
            action="store_true",
            help="list servers of all projects (administrators)",
        )
        parser.add_argument("--marker", metavar="ID", help="only servers after this one")
        parser.add_argument(
            "--limit",
            metavar="N",
            type=arguments.positive,
            help="maximum number of servers (default: all)",
        )
        parser.add_argument("--long", action="store_true", help="show more columns")
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        query = {
            "name": parsed_args.name,
            "status": parsed_args.status,
            "host": parsed_args.host,
            "reservation_id": parsed_args.reservation_id,
            "all_tenants": "true" if parsed_args.all_projects else None,
            "marker": parsed_args.marker,
            "limit": parsed_args.limit and min(parsed_args.limit, PAGE_SIZE_MAX),
        }
        query = {name: value for name, value in query.items() if value is not None}
        servers = islice(self.items("servers", "servers", "detail", query=query), parsed_args.limit)
        if parsed_args.long:
            return LONG_COLUMNS, [_long_row(server) for server in servers]
        return COLUMNS, [_row(server) for server in servers]


class ShowServer(ApiShow):
    """Show one server."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("server", help="id or name")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        server = find_server(self.api, parsed_args.server)
        fields = _fields(server)
        return tuple(fields), cells(fields.values())


class DeleteServers(ApiCommand):
    """Delete servers, in any state."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("servers", nargs="+", metavar="server", help="id or name")
        _Waits.add_options(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        found = [find_server(self.api, server)["id"] for server in parsed_args.servers]
        servers = list(dict.fromkeys(found))
        quiet = not parsed_args.wait or self.application.options.verbose_level == 0
        with progress(self.application.stderr, "Deleting", len(servers), quiet=quiet) as show:
            for number, server in enumerate(servers):
                show(0, {"requested": number})
                self._delete(server)
            if parsed_args.wait:
                wait.wait_until_gone(self.api, servers, wait.Pace(parsed_args.timeout), show)
        return 0

    def _delete(self, server: str) -> None:
        try:
            self.api.delete("servers", server)
        except ApiNotFound:
            LOG.info("%s is already gone.", server)


class ListServerEvents(ApiLister):
    """List the actions on a server, step by step, oldest first."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("server", help="id or name")
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        server = find_server(self.api, parsed_args.server)["id"]
        path = ("servers", server, "os-instance-actions")
        actions = self.api.get(*path)["instanceActions"]
        rows = [
            cells(row)
            for action in reversed(actions)
            for row in _event_rows(self.api.get(*path, action["request_id"])["instanceAction"])
        ]
        return EVENT_COLUMNS, rows


COLUMNS = ("ID", "Name", "Status", "Task", "Host", "Attempt", "Flavor", "Created")
LONG_COLUMNS = (
    *COLUMNS, "Node", "Zone", "Power", "Image", "Properties", "Project", "Reservation", "Fault",
    "In zone",
)  # fmt: skip
EVENT_COLUMNS = ("Started", "Finished", "Action", "Event", "Attempt", "Host", "Result", "Details")


def fault_message(server: Document) -> str:
    """Return why a server is in ERROR, as shown to users."""
    return str(server.get("fault", {}).get("message", "No reason was recorded."))


def _add_networks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--network",
        dest="networks",
        metavar="UUID",
        action="append",
        default=[],
        help="network whose segments determine the hosts; may be repeated",
    )
    parser.add_argument(
        "--remote-managed-network",
        dest="remote_managed_networks",
        metavar="UUID",
        action="append",
        default=[],
        help="the same, on a remotely managed network interface",
    )


def _networks(parsed_args: argparse.Namespace) -> list[Document]:
    plain: list[Document] = [{"uuid": uuid} for uuid in parsed_args.networks]
    remote = parsed_args.remote_managed_networks
    return [*plain, *({"uuid": uuid, "remote_managed": True} for uuid in remote)]


def _add_counts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--min",
        metavar="N",
        type=arguments.positive,
        help="minimum number of servers; build none if they do not fit",
    )
    parser.add_argument(
        "--max",
        metavar="N",
        type=arguments.positive,
        help="maximum number of servers, as quotas allow",
    )


def _add_pairs(parser: argparse.ArgumentParser) -> None:
    arguments.add_hints(parser)
    parser.add_argument(
        "--property",
        metavar="KEY=VALUE",
        dest="properties",
        action="append",
        default=[],
        type=arguments.pair,
        help="metadata kept with the server; may be repeated",
    )


def _launch_order(server: Document) -> tuple[int, str]:
    return server.get("OS-EXT-SRV-ATTR:launch_index", 0), server["name"]


def _row(server: Document) -> tuple[Any, ...]:
    return cells(
        (
            server["id"],
            server["name"],
            server["status"],
            server[TASK],
            server.get(HOST),
            server["armillary:attempt"],
            server["flavor"]["original_name"],
            server["created"],
        )
    )


def _long_row(server: Document) -> tuple[Any, ...]:
    return _row(server) + cells(
        (
            server.get("OS-EXT-SRV-ATTR:hypervisor_hostname"),
            server["OS-EXT-AZ:availability_zone"],
            POWER_STATES.get(server["OS-EXT-STS:power_state"]),
            _image_id(server),
            server["metadata"],
            server["tenant_id"],
            server["OS-EXT-SRV-ATTR:reservation_id"],
            fault_message(server) if server["status"] == "ERROR" else None,
            server.get("armillary:zone"),
        )
    )


def _fields(server: Document) -> dict[str, Any]:
    flavor = server["flavor"]
    return {
        "id": server["id"],
        "name": server["name"],
        "status": server["status"],
        "task_state": server[TASK],
        "power_state": POWER_STATES.get(server["OS-EXT-STS:power_state"]),
        "fault": fault_message(server) if "fault" in server else None,
        "host": server.get(HOST),
        "node": server.get("OS-EXT-SRV-ATTR:hypervisor_hostname"),
        "zone": server.get("armillary:zone"),
        "availability_zone": server["OS-EXT-AZ:availability_zone"],
        "attempt": server["armillary:attempt"],
        "exit_code": server["armillary:exit_code"],
        "flavor": flavor["original_name"],
        "vcpus": flavor["vcpus"],
        "ram_mb": flavor["ram"],
        "disk_gb": flavor["disk"],
        "image": _image_id(server),
        "properties": server["metadata"],
        "groups": server["server_groups"],
        "project": server["tenant_id"],
        "user": server["user_id"],
        "reservation_id": server["OS-EXT-SRV-ATTR:reservation_id"],
        "created": server["created"],
        "updated": server["updated"],
        "launched": server["OS-SRV-USG:launched_at"],
    }


def _image_id(server: Document) -> str | None:
    return server["image"]["id"] if server["image"] else None


def _event_rows(action: Document) -> list[tuple[Any, ...]]:
    """Return a row for each event, or one for an action that has none yet."""
    rows = [
        (
            event["start_time"],
            event["finish_time"],
            action["action"],
            event["event"],
            event["armillary:attempt"],
            event.get("host"),
            event["result"],
            event.get("details"),
        )
        for event in action["events"]
    ]
    if rows:
        return rows
    begun = action["start_time"], action["updated_at"], action["action"]
    return [(*begun, None, None, None, None, action["message"])]
