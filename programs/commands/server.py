"""Servers: create, list, show and delete."""

import logging
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

from armillary import exception
from armillary.table_columns import printable
from programs.commands import arguments, base, wait
from programs.commands.lookup import find_flavor, find_group, find_image, find_server
from programs.http_client import ApiClient, ApiNotFound, Document
from programs.progress import counts_text

LOG = logging.getLogger(__name__)

STATUSES = (
    "ACTIVE", "BUILD", "ERROR", "SHELVED", "SHELVED_OFFLOADED", "SHUTOFF", "SOFT_DELETED",
    "VERIFY_RESIZE",
)  # fmt: skip
POWER_STATES = {0: None, 1: "running", 4: "shutdown"}
PAGE_SIZE_MAX = 1000
FAULTS_SHOWN_MAX = 5
GROUP_HINT = "group"

HOST = "OS-EXT-SRV-ATTR:host"
NODE = "OS-EXT-SRV-ATTR:hypervisor_hostname"
TASK = "OS-EXT-STS:task_state"


def _fault(server: Document) -> str:
    """Return why a server is in ERROR, as shown to users."""
    return str(server.get("fault", {}).get("message", "No reason was recorded."))


def _power_state(server: Document) -> str | None:
    return POWER_STATES.get(server["OS-EXT-STS:power_state"])


def _image_id(server: Document) -> str | None:
    return server["image"]["id"] if server["image"] else None


def _flavor_name(server: Document) -> str:
    return str(server["flavor"]["original_name"])


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
    "Fault": lambda server: _fault(server) if server["status"] == "ERROR" else None,
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
        "fault": lambda server: _fault(server) if "fault" in server else None,
        "host": lambda server: server.get(HOST),
        "node": lambda server: server.get(NODE),
        "zone": lambda server: server.get("armillary:zone"),
        "availability_zone": "OS-EXT-AZ:availability_zone",
        "attempt": "armillary:attempt",
        "exit_code": "armillary:exit_code",
        "flavor": _flavor_name,
        "vcpus": lambda server: server["flavor"]["vcpus"],
        "ram_mb": lambda server: server["flavor"]["ram"],
        "disk_gb": lambda server: server["flavor"]["disk"],
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
EVENT_COLUMNS: base.Columns = {
    "Started": "start_time",
    "Action": "action",
    "Event": "event",
    "Host": "host",
    "Result": "result",
    "Try": "armillary:attempt",
    "Details": "details",
}
LONG_EVENT_COLUMNS: base.Columns = {**EVENT_COLUMNS, "Finished": "finish_time"}


class ServersFailed(exception.ArmillaryError):
    """Some servers ended in ERROR while waiting for them."""

    template = "%(failed)s of %(total)s ended in ERROR. To see why: armillary explain %(server)s"


class CreateServer(base.ApiLister):
    """Create one or several servers.

    Shows the accepted servers; with --wait, their final state.
    """

    _built: Sequence[Document] = ()

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="name; with several servers, a number is appended")
        add_placement_options(parser, is_flavor_required=True)
        arguments.add_list(
            parser, "--network", "networks", "UUID", "network whose segments determine the hosts"
        )
        arguments.add_list(
            parser, "--remote-managed-network", "remote_managed_networks", "UUID",
            "the same, on a remotely managed network interface",
        )  # fmt: skip
        parser.add_argument(
            "--min",
            metavar="N",
            type=arguments.positive,
            help="minimum number of servers; if fewer fit, none is built",
        )
        parser.add_argument(
            "--max",
            metavar="N",
            type=arguments.positive,
            help="maximum number of servers; quotas may allow fewer",
        )
        arguments.add_pairs(parser, "--property", "properties", "metadata kept with the server")
        arguments.add_wait(parser)

    def take_action(self, parsed_args: Namespace) -> base.Table:
        body = request_body(
            self.api,
            parsed_args,
            name=parsed_args.name,
            networks=_networks(parsed_args),
            min_count=parsed_args.min,
            max_count=parsed_args.max,
            metadata=dict(parsed_args.properties),
        )
        accepted = self.api.post("servers", body=body)
        servers, reservation_id = accepted["armillary:servers"], accepted["reservation_id"]
        if parsed_args.wait:
            found = self._wait(servers, reservation_id, parsed_args)
        else:
            query = {"reservation_id": reservation_id}
            found = list(self.items("servers", "servers", "detail", query=query))
        self._built = sorted(found, key=_launch_order)
        return base.table(BUILT_COLUMNS, self._built)

    def run(self, parsed_args: Namespace) -> int:
        result = super().run(parsed_args)
        if parsed_args.wait:
            self._require_built()
        return result

    def _wait(
        self, servers: Sequence[str], reservation_id: str, parsed_args: Namespace
    ) -> list[Document]:
        pace = wait.Pace(parsed_args.timeout)
        name = printable(parsed_args.name)
        with self.progress(f"Building {name}", len(servers)) as show:
            found = wait.wait_until_built(self.api, servers, reservation_id, pace, show)
        statuses = Counter(server["status"] for server in found)
        built = len(found) - statuses["ERROR"]
        self.report(f"Built {built} of {len(servers)} ({counts_text(statuses) or 'all deleted'})")
        return found

    def _require_built(self) -> None:
        """Raise ``ServersFailed`` after printing the faults, unless all servers were built."""
        failed = [server for server in self._built if server["status"] == "ERROR"]
        for server in failed[:FAULTS_SHOWN_MAX]:
            LOG.error("%s: %s", printable(server["name"]), printable(_fault(server)))
        if failed:
            raise ServersFailed(failed=len(failed), total=len(self._built), server=failed[0]["id"])


class ListServers(base.ApiLister):
    """List servers, newest first."""

    def add_options(self, parser: ArgumentParser) -> None:
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

    def take_action(self, parsed_args: Namespace) -> base.Table:
        limit = parsed_args.limit
        query = arguments.given(
            name=parsed_args.name,
            status=parsed_args.status,
            host=parsed_args.host,
            reservation_id=parsed_args.reservation_id,
            all_tenants="true" if parsed_args.all_projects else None,
            marker=parsed_args.marker,
            limit=limit and min(limit, PAGE_SIZE_MAX),
        )
        servers = islice(self.items("servers", "servers", "detail", query=query), limit)
        return base.table(LONG_COLUMNS if parsed_args.long else COLUMNS, servers)


class ShowServer(base.ShowNamed):
    """Show one server."""

    noun = SERVER


class DeleteServers(base.ApiCommand):
    """Delete servers, in any state."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("servers", nargs="+", metavar="server", help="id or name")
        arguments.add_wait(parser)

    def take_action(self, parsed_args: Namespace) -> int:
        found = [find_server(self.api, server)["id"] for server in parsed_args.servers]
        servers = list(dict.fromkeys(found))
        with self.progress("Deleting", len(servers), is_shown=parsed_args.wait) as show:
            for number, server in enumerate(servers):
                show(0, {"requested": number})
                self._delete(server)
            if not parsed_args.wait:
                return 0
            wait.wait_until_gone(self.api, servers, wait.Pace(parsed_args.timeout), show)
        self.report(f"Deleted {len(servers)} of {len(servers)}")
        return 0

    def _delete(self, server: str) -> None:
        try:
            self.api.delete("servers", server)
        except ApiNotFound:
            LOG.info("%s is already gone.", server)


class ListServerEvents(base.ApiLister):
    """List the actions on a server, step by step, oldest first."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("server", help="id or name")
        parser.add_argument("--long", action="store_true", help="show when each step finished")

    def take_action(self, parsed_args: Namespace) -> base.Table:
        server = find_server(self.api, parsed_args.server)["id"]
        path = ("servers", server, "os-instance-actions")
        actions = self.api.get(*path)["instanceActions"]
        events = (
            event
            for action in reversed(actions)
            for event in _events(self.api.get(*path, action["request_id"])["instanceAction"])
        )
        return base.table(LONG_EVENT_COLUMNS if parsed_args.long else EVENT_COLUMNS, events)


def add_placement_options(parser: ArgumentParser, *, is_flavor_required: bool) -> None:
    """Add the options that a create and a dry run have in common, except for networks."""
    parser.add_argument("--flavor", required=is_flavor_required, help="flavor (id or name)")
    parser.add_argument("--image", help="image (id or name)")
    parser.add_argument(
        "--availability-zone",
        metavar="ZONE",
        help="availability zone; administrators may use ZONE:HOST, which bypasses the filters",
    )
    parser.add_argument("--host", help="host; the filters still apply (administrators)")
    arguments.add_pairs(parser, "--hint", "hints", "scheduler hint, such as group=GROUP")


def request_body(api: ApiClient, parsed_args: Namespace, **more: Any) -> Document:
    """Return the body of a create or dry run: the common options, and those of ``more``."""
    image = parsed_args.image
    server: Document = {
        "flavorRef": find_flavor(api, parsed_args.flavor)["id"],
        "imageRef": find_image(api, image)["id"] if image else None,
        "availability_zone": parsed_args.availability_zone,
        "host": parsed_args.host,
        **more,
    }
    body: Document = {"server": {key: value for key, value in server.items() if value}}
    hints = arguments.grouped(parsed_args.hints)
    if isinstance(group := hints.get(GROUP_HINT), str):
        hints[GROUP_HINT] = find_group(api, group)["id"]
    if hints:
        body["os:scheduler_hints"] = hints
    return body


def _networks(parsed_args: Namespace) -> list[Document]:
    plain: list[Document] = [{"uuid": uuid} for uuid in parsed_args.networks]
    remote = parsed_args.remote_managed_networks
    return [*plain, *({"uuid": uuid, "remote_managed": True} for uuid in remote)]


def _launch_order(server: Document) -> tuple[int, str]:
    return server.get("OS-EXT-SRV-ATTR:launch_index", 0), server["name"]


def _events(action: Document) -> list[Document]:
    """Return the events of an action, or itself as one if it has none yet."""
    name = {"action": action["action"]}
    if action["events"]:
        return [{"host": None, "details": None, **event, **name} for event in action["events"]]
    unknown = dict.fromkeys(("event", "host", "result", "armillary:attempt"))
    begun = {"start_time": action["start_time"], "finish_time": action["updated_at"]}
    return [{**unknown, **begun, **name, "details": action["message"]}]
