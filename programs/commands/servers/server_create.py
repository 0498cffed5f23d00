"""Creation of servers, and the requests that creates and dry runs have in common."""

import base64
import logging
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from armillary import exception
from armillary.table_columns import printable
from programs.commands import arguments, base, wait
from programs.commands.lookup import find_flavor, find_group, find_image
from programs.commands.servers.server import BUILT_COLUMNS, fault
from programs.display.progress import counts_text
from programs.http_client import ApiClient, Document

LOG = logging.getLogger(__name__)

FAULTS_SHOWN_MAX = 5
GROUP_HINT = "group"
NO_NETWORKS = ("none", "auto")


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
        arguments.add_list(parser, "--tag", "tags", "TAG", "tag of the server")
        parser.add_argument("--description", metavar="TEXT", help="description")
        parser.add_argument("--key-name", metavar="NAME", help="key pair for logins")
        parser.add_argument(
            "--user-data", metavar="FILE", type=_file, help="file given to the server as user data"
        )
        parser.add_argument(
            "--config-drive", action="store_true",
            help="give the server a config drive, with a password for its administrator",
        )  # fmt: skip
        parser.add_argument(
            "--nic", metavar="net-id=UUID|none|auto", type=_nic, action="append", default=[],
            help="the same as --network; none and auto mean the host's own network",
        )  # fmt: skip
        parser.add_argument(
            "--hypervisor-hostname", metavar="NODE", help="node of a host (administrators)"
        )
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
            tags=parsed_args.tags,
            description=parsed_args.description,
            key_name=parsed_args.key_name,
            user_data=parsed_args.user_data,
            config_drive=parsed_args.config_drive or None,
            hypervisor_hostname=parsed_args.hypervisor_hostname,
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
            LOG.error("%s: %s", printable(server["name"]), printable(fault(server)))
        if failed:
            raise ServersFailed(failed=len(failed), total=len(self._built), server=failed[0]["id"])


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
    named = [uuid for uuid in (*parsed_args.networks, *parsed_args.nic) if uuid not in NO_NETWORKS]
    plain: list[Document] = [{"uuid": uuid} for uuid in named]
    remote = parsed_args.remote_managed_networks
    return [*plain, *({"uuid": uuid, "remote_managed": True} for uuid in remote)]


def _launch_order(server: Document) -> tuple[int, str]:
    return server.get("OS-EXT-SRV-ATTR:launch_index", 0), server["name"]


def _nic(text: str) -> str:
    key, _sign, network = text.partition("=")
    if text in NO_NETWORKS:
        return text
    if key != "net-id" or not network:
        raise ArgumentTypeError(f"'{text}' is not net-id=UUID, none or auto")
    return network


def _file(path: str) -> str:
    """Return the content of a file as Base64, as the API takes it."""
    try:
        return base64.b64encode(Path(path).read_bytes()).decode()
    except OSError as error:
        raise ArgumentTypeError(f"{path} cannot be read: {error.strerror}") from error
