"""Actions on servers: power, resize, migrate, shelve, lock, console."""

import logging
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from typing import Any

from armillary import exception
from armillary.table_columns import printable
from programs.commands import arguments, wait
from programs.commands.arguments import given
from programs.commands.base import ApiCommand
from programs.commands.lookup import find_flavor, find_image, find_server
from programs.commands.servers import serial_terminal
from programs.commands.servers.failures import last_failure
from programs.commands.servers.server import HOST
from programs.display.progress import Show, counts_text
from programs.http_client import Document

LOG = logging.getLogger(__name__)


class ActionFailed(exception.ArmillaryError):
    """The requested actions failed on some servers."""

    template = (
        "%(action)s failed for %(failed)s of %(total)s. To see why: armillary server events "
        "%(server)s"
    )


class ServerAction(ApiCommand):
    """Request one action on one or several servers, and optionally wait for its end."""

    ACTION: str
    DOING: str
    DONE: str

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("servers", nargs="+", metavar="server", help="id or name")
        self.add_details(parser)
        arguments.add_wait(parser)

    def add_details(self, parser: ArgumentParser) -> None:
        """Add the options of this action."""

    def details(self, parsed_args: Namespace) -> Any:
        """Return the body of the action request."""
        return None

    def outcome(self, servers: Sequence[Document]) -> str:
        """Return the state of servers after the action, for people."""
        return counts_text(Counter(server["status"] for server in servers)) or "deleted meanwhile"

    def take_action(self, parsed_args: Namespace) -> int:
        found = [find_server(self.api, server)["id"] for server in parsed_args.servers]
        servers = list(dict.fromkeys(found))
        body = {self.ACTION: self.details(parsed_args)}
        with self.progress(self.DOING, len(servers), is_shown=parsed_args.wait) as show:
            for number, server in enumerate(servers, 1):
                self.api.post("servers", server, "action", body=body)
                show(0, {"requested": number})
            if not parsed_args.wait:
                return 0
            ended = self._wait(servers, wait.Pace(parsed_args.timeout), show)
        self.report(f"{self.DONE} {len(servers)} of {len(servers)} ({self.outcome(ended)})")
        return 0

    def _wait(self, servers: Sequence[str], pace: wait.Pace, show: Show) -> list[Document]:
        """Return the remaining servers when all are idle. Raises ``ActionFailed``."""
        ended = wait.wait_until_idle(self.api, servers, pace, show)
        failed = [server for server in servers if self._has_failed(server)]
        if failed:
            raise ActionFailed(
                failed=len(failed), total=len(servers), action=self.DOING, server=failed[0]
            )
        return ended

    def _has_failed(self, server: str) -> bool:
        failure = last_failure(self.api, server)
        if failure is not None:
            LOG.error("%s: %s", server, failure)
        return failure is not None


class StartServers(ServerAction):
    """Start stopped servers."""

    ACTION, DOING, DONE = "os-start", "Starting", "Started"


class StopServers(ServerAction):
    """Stop servers; they keep their hosts and resources."""

    ACTION, DOING, DONE = "os-stop", "Stopping", "Stopped"


class RebootServers(ServerAction):
    """Reboot servers."""

    ACTION, DOING, DONE = "reboot", "Rebooting", "Rebooted"

    def add_details(self, parser: ArgumentParser) -> None:
        kind = parser.add_mutually_exclusive_group()
        kind.add_argument("--hard", action="store_true", help="hard reboot: do not shut down first")
        kind.add_argument("--soft", action="store_true", help="shut down first (default)")

    def details(self, parsed_args: Namespace) -> Any:
        return {"type": "HARD" if parsed_args.hard else "SOFT"}


class RebuildServers(ServerAction):
    """Rebuild servers on their hosts; data they wrote is lost."""

    ACTION, DOING, DONE = "rebuild", "Rebuilding", "Rebuilt"

    def add_details(self, parser: ArgumentParser) -> None:
        parser.add_argument("--image", required=True, help="image (id or name)")
        parser.add_argument("--name", help="new name")

    def details(self, parsed_args: Namespace) -> Any:
        image = find_image(self.api, parsed_args.image)["id"]
        return given(imageRef=image, name=parsed_args.name)


class ResizeServers(ServerAction):
    """Change the flavor of servers; confirm or revert it afterwards."""

    ACTION, DOING, DONE = "resize", "Resizing", "Resized"

    def add_details(self, parser: ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--flavor", help="new flavor (id or name)")
        what.add_argument("--confirm", action="store_true", help="the same as 'server confirm'")
        what.add_argument("--revert", action="store_true", help="the same as 'server revert'")

    def take_action(self, parsed_args: Namespace) -> int:
        if parsed_args.flavor:
            return super().take_action(parsed_args)
        instead = ConfirmServers if parsed_args.confirm else RevertServers
        return instead(self.app, self.app_args).take_action(parsed_args)

    def details(self, parsed_args: Namespace) -> Any:
        return {"flavorRef": find_flavor(self.api, parsed_args.flavor)["id"]}


class ConfirmServers(ServerAction):
    """Confirm a resize or migration, and release the resources at the source."""

    ACTION, DOING, DONE = "confirmResize", "Confirming", "Confirmed"


class RevertServers(ServerAction):
    """Revert a resize or migration, and return to the source."""

    ACTION, DOING, DONE = "revertResize", "Reverting", "Reverted"


class _Move(ServerAction):
    """An action that moves servers, to a target host or any."""

    def add_details(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", help="target host; the filters still apply (default: any)")

    def details(self, parsed_args: Namespace) -> Any:
        return given(host=parsed_args.host)

    def outcome(self, servers: Sequence[Document]) -> str:
        hosts = sorted({str(server[HOST]) for server in servers if server.get(HOST)})
        return f"now on {', '.join(map(printable, hosts))}" if hosts else super().outcome(servers)


class MigrateServers(_Move):
    """Migrate servers: cold, to be confirmed afterwards, or --live (administrators)."""

    ACTION, DOING, DONE = "migrate", "Migrating", "Migrated"

    def add_details(self, parser: ArgumentParser) -> None:
        super().add_details(parser)
        parser.add_argument(
            "--live", "--live-migration", action="store_true", help="live-migrate running servers"
        )
        disks = parser.add_mutually_exclusive_group()
        disks.add_argument(
            "--block-migration", action="store_true", help="with --live: copy local disks, too"
        )
        disks.add_argument(
            "--shared-migration", action="store_true", help="with --live: disks are shared"
        )

    def details(self, parsed_args: Namespace) -> Any:
        details = super().details(parsed_args)
        if parsed_args.block_migration or parsed_args.shared_migration:
            if not parsed_args.live:
                raise exception.Invalid("--block-migration and --shared-migration require --live.")
            details["block_migration"] = parsed_args.block_migration
        return details

    def take_action(self, parsed_args: Namespace) -> int:
        if parsed_args.live:
            self.ACTION = "os-migrateLive"
        return super().take_action(parsed_args)


class EvacuateServers(_Move):
    """Rebuild servers of a dead host elsewhere (administrators)."""

    ACTION, DOING, DONE = "evacuate", "Evacuating", "Evacuated"


class ShelveServers(ServerAction):
    """Shelve servers: stop them, and offload them after [DEFAULT] shelved_offload_time."""

    ACTION, DOING, DONE = "shelve", "Shelving", "Shelved"

    def add_details(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--offload", action="store_true", help="offload shelved servers from their hosts now"
        )

    def take_action(self, parsed_args: Namespace) -> int:
        if parsed_args.offload:
            self.ACTION = "shelveOffload"
        return super().take_action(parsed_args)


class UnshelveServers(ServerAction):
    """Unshelve servers."""

    ACTION, DOING, DONE = "unshelve", "Unshelving", "Unshelved"

    def add_details(self, parser: ArgumentParser) -> None:
        parser.add_argument("--availability-zone", metavar="ZONE", help="another availability zone")
        parser.add_argument("--host", help="target host (administrators)")

    def details(self, parsed_args: Namespace) -> Any:
        return given(availability_zone=parsed_args.availability_zone, host=parsed_args.host)


class LockServers(ServerAction):
    """Lock servers: only administrators can change them."""

    ACTION, DOING, DONE = "lock", "Locking", "Locked"

    def add_details(self, parser: ArgumentParser) -> None:
        parser.add_argument("--reason", help="why")

    def details(self, parsed_args: Namespace) -> Any:
        return given(locked_reason=parsed_args.reason)


class UnlockServers(ServerAction):
    """Unlock servers."""

    ACTION, DOING, DONE = "unlock", "Unlocking", "Unlocked"


class RestoreServers(ServerAction):
    """Restore soft-deleted servers, kept for [DEFAULT] reclaim_instance_interval."""

    ACTION, DOING, DONE = "restore", "Restoring", "Restored"


class ShowConsole(ApiCommand):
    """Show the last console output of a server, or connect to its serial console."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("server", help="id or name")
        parser.add_argument(
            "--lines",
            metavar="N",
            type=arguments.positive,
            help="number of lines (default: all kept)",
        )
        parser.add_argument(
            "--connect", action="store_true", help="use it as a terminal; Ctrl-] ends that"
        )
        parser.add_argument(
            "--url", action="store_true", help="show a link to it, which can be used once"
        )

    def take_action(self, parsed_args: Namespace) -> int:
        server = find_server(self.api, parsed_args.server)["id"]
        if parsed_args.connect or parsed_args.url:
            return self._connect(server, shows_url=parsed_args.url)
        body = {"os-getConsoleOutput": given(length=parsed_args.lines)}
        output: str = self.api.post("servers", server, "action", body=body)["output"]
        for line in output.splitlines():
            self.application.stdout.write(f"{printable(line)}\n")
        return 0

    def _connect(self, server_id: str, *, shows_url: bool) -> int:
        body = {"remote_console": {"protocol": "serial", "type": "serial"}}
        found = self.api.post("servers", server_id, "remote-consoles", body=body)
        url = printable(found["remote_console"]["url"])
        if shows_url:
            self.application.stdout.write(f"{url}\n")
            return 0
        self.application.stderr.write("Connected; Ctrl-] ends it, Enter shows a prompt.\n")
        serial_terminal.attach(url)
        return 0
