"""Actions on servers: power, resize, migrate, shelve, lock, console."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from armillary import exception
from armillary.table_columns import printable
from programs.commands import arguments, wait
from programs.commands.base import ApiCommand
from programs.commands.failures import last_failure
from programs.commands.lookup import find_flavor, find_image, find_server
from programs.commands.progress import progress
from programs.commands.server import WAIT_TIMEOUT_SECONDS

LOG = logging.getLogger(__name__)


class ActionFailed(exception.ArmillaryError):
    """The requested actions failed on some servers."""

    template = (
        "%(failed)s of %(total)s servers: %(action)s failed. To see why: armillary server "
        "events %(server)s"
    )


class _Action(ApiCommand):
    """Request one action on one or several servers, and optionally wait for its end."""

    ACTION: str
    TITLE: str

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("servers", nargs="+", metavar="server", help="id or name")
        self.add_options(parser)
        parser.add_argument("--wait", action="store_true", help="wait until it is done")
        parser.add_argument(
            "--timeout",
            metavar="SECONDS",
            type=arguments.seconds,
            default=WAIT_TIMEOUT_SECONDS,
            help="timeout of --wait in seconds (default: %(default)g)",
        )
        return parser

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of this action."""

    def arguments(self, parsed_args: argparse.Namespace) -> Any:
        """Return the body of the action request."""
        return None

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        found = [find_server(self.api, server)["id"] for server in parsed_args.servers]
        servers = list(dict.fromkeys(found))
        body = {self.ACTION: self.arguments(parsed_args)}
        quiet = not parsed_args.wait or self.application.options.verbose_level == 0
        with progress(self.application.stderr, self.TITLE, len(servers), quiet=quiet) as show:
            for number, server in enumerate(servers, 1):
                self.api.post("servers", server, "action", body=body)
                show(0, {"requested": number})
            if parsed_args.wait:
                self._wait(servers, wait.Pace(parsed_args.timeout), show)
        return 0

    def _wait(self, servers: Sequence[str], pace: wait.Pace, show: Any) -> None:
        wait.wait_until_idle(self.api, servers, pace, show)
        failed = [server for server in servers if self._has_failed(server)]
        if failed:
            raise ActionFailed(
                failed=len(failed), total=len(servers), action=self.TITLE.lower(), server=failed[0]
            )

    def _has_failed(self, server: str) -> bool:
        """Return whether the last action on a server failed, and report why."""
        failure = last_failure(self.api, server)
        if failure is not None:
            LOG.error("%s: %s", server, failure)
        return failure is not None


class StartServers(_Action):
    """Start stopped servers."""

    ACTION, TITLE = "os-start", "Starting"


class StopServers(_Action):
    """Stop servers; they keep their hosts and resources."""

    ACTION, TITLE = "os-stop", "Stopping"


class RebootServers(_Action):
    """Reboot servers."""

    ACTION, TITLE = "reboot", "Rebooting"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--hard", action="store_true", help="hard reboot: do not shut down first"
        )

    def arguments(self, parsed_args: argparse.Namespace) -> Any:
        return {"type": "HARD" if parsed_args.hard else "SOFT"}


class RebuildServers(_Action):
    """Rebuild servers on their hosts; data they wrote is lost."""

    ACTION, TITLE = "rebuild", "Rebuilding"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--image", required=True, help="image (id or name)")
        parser.add_argument("--name", help="new name")

    def arguments(self, parsed_args: argparse.Namespace) -> Any:
        image = find_image(self.api, parsed_args.image)["id"]
        return _without_none({"imageRef": image, "name": parsed_args.name})


class ResizeServers(_Action):
    """Change the flavor of servers; confirm or revert it afterwards."""

    ACTION, TITLE = "resize", "Resizing"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--flavor", required=True, help="new flavor (id or name)")

    def arguments(self, parsed_args: argparse.Namespace) -> Any:
        return {"flavorRef": find_flavor(self.api, parsed_args.flavor)["id"]}


class ConfirmServers(_Action):
    """Confirm a resize or migration, and release the resources at the source."""

    ACTION, TITLE = "confirmResize", "Confirming"


class RevertServers(_Action):
    """Revert a resize or migration, and return to the source."""

    ACTION, TITLE = "revertResize", "Reverting"


class _ToHost(_Action):
    """An action that accepts a target host."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--host", help="target host; the filters still apply (default: any)")

    def arguments(self, parsed_args: argparse.Namespace) -> Any:
        return _without_none({"host": parsed_args.host})


class MigrateServers(_ToHost):
    """Migrate servers: cold, to be confirmed afterwards, or --live (administrators)."""

    ACTION, TITLE = "migrate", "Migrating"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--live", action="store_true", help="live-migrate running servers")

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        if parsed_args.live:
            self.ACTION = "os-migrateLive"
        return super().take_action(parsed_args)


class EvacuateServers(_ToHost):
    """Rebuild servers of a dead host elsewhere (administrators)."""

    ACTION, TITLE = "evacuate", "Evacuating"


class ShelveServers(_Action):
    """Shelve servers: stop them, and offload them after [DEFAULT] shelved_offload_time."""

    ACTION, TITLE = "shelve", "Shelving"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--offload", action="store_true", help="offload shelved servers from their hosts now"
        )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        if parsed_args.offload:
            self.ACTION = "shelveOffload"
        return super().take_action(parsed_args)


class UnshelveServers(_Action):
    """Unshelve servers."""

    ACTION, TITLE = "unshelve", "Unshelving"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--availability-zone", metavar="ZONE", help="another availability zone")
        parser.add_argument("--host", help="target host (administrators)")

    def arguments(self, parsed_args: argparse.Namespace) -> Any:
        wanted = {"availability_zone": parsed_args.availability_zone, "host": parsed_args.host}
        return _without_none(wanted)


class LockServers(_Action):
    """Lock servers: only administrators can change them."""

    ACTION, TITLE = "lock", "Locking"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--reason", help="why")

    def arguments(self, parsed_args: argparse.Namespace) -> Any:
        return _without_none({"locked_reason": parsed_args.reason})


class UnlockServers(_Action):
    """Unlock servers."""

    ACTION, TITLE = "unlock", "Unlocking"


class RestoreServers(_Action):
    """Restore soft-deleted servers, kept for [DEFAULT] reclaim_instance_interval."""

    ACTION, TITLE = "restore", "Restoring"


class ShowConsole(ApiCommand):
    """Show the last console output of a server."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("server", help="id or name")
        parser.add_argument(
            "--lines",
            metavar="N",
            type=arguments.positive,
            help="number of lines (default: all kept)",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        server = find_server(self.api, parsed_args.server)["id"]
        body = {"os-getConsoleOutput": _without_none({"length": parsed_args.lines})}
        output: str = self.api.post("servers", server, "action", body=body)["output"]
        for line in output.splitlines():
            self.application.stdout.write(f"{printable(line)}\n")
        return 0


def _without_none(wanted: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in wanted.items() if value is not None}
