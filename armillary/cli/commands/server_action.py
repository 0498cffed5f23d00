"""What is done to servers after their build: power, size, place, shelf, locks, console."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from armillary import exception
from armillary.cli.commands import arguments, wait
from armillary.cli.commands.base import ApiCommand
from armillary.cli.commands.columns import printable
from armillary.cli.commands.failures import last_failure
from armillary.cli.commands.find import find_flavor, find_image, find_server
from armillary.cli.commands.progress import progress
from armillary.cli.commands.server import WAIT_TIMEOUT_SECONDS

LOG = logging.getLogger(__name__)


class ActionFailed(exception.ArmillaryError):
    """What was waited for did not come about."""

    template = (
        "%(failed)s of %(total)s servers: %(action)s failed. "
        "Why: armillary server events %(server)s"
    )


class _Action(ApiCommand):
    """Asks for one action on one server or several, and may wait for its end."""

    ACTION: str
    TITLE: str

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("servers", nargs="+", metavar="server", help="id or name")
        self.add_options(parser)
        parser.add_argument("--wait", action="store_true", help="return when it is done")
        parser.add_argument(
            "--timeout",
            metavar="SECONDS",
            type=arguments.seconds,
            default=WAIT_TIMEOUT_SECONDS,
            help="how long --wait waits (default: %(default)g)",
        )
        return parser

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add what this action takes besides."""

    def arguments(self, parsed_args: argparse.Namespace) -> Any:
        """Return what is sent with the action."""
        return None

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        found = [find_server(self.api, server)["id"] for server in parsed_args.servers]
        servers = list(dict.fromkeys(found))
        body = {self.ACTION: self.arguments(parsed_args)}
        quiet = not parsed_args.wait or self.application.options.verbose_level == 0
        with progress(self.application.stderr, self.TITLE, len(servers), quiet=quiet) as show:
            for number, server in enumerate(servers, 1):
                self.api.post("servers", server, "action", body=body)
                show(0, {"asked for": number})
            if parsed_args.wait:
                self._wait(servers, wait.Pace(parsed_args.timeout), show)
        return 0

    def _wait(self, servers: Sequence[str], pace: wait.Pace, show: Any) -> None:
        wait.wait_until_at_rest(self.api, servers, pace, show)
        failed = [server for server in servers if self._has_failed(server)]
        if failed:
            raise ActionFailed(
                failed=len(failed), total=len(servers), action=self.TITLE.lower(), server=failed[0]
            )

    def _has_failed(self, server: str) -> bool:
        """Return whether the last thing that was done to a server failed; say why."""
        failure = last_failure(self.api, server)
        if failure is not None:
            LOG.error("%s: %s", server, failure)
        return failure is not None


class StartServers(_Action):
    """Start servers that are off."""

    ACTION, TITLE = "os-start", "Starting"


class StopServers(_Action):
    """Stop servers; they keep their place."""

    ACTION, TITLE = "os-stop", "Stopping"


class RebootServers(_Action):
    """Start servers anew."""

    ACTION, TITLE = "reboot", "Rebooting"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--hard", action="store_true", help="do not ask them to end first")

    def arguments(self, parsed_args: argparse.Namespace) -> Any:
        return {"type": "HARD" if parsed_args.hard else "SOFT"}


class RebuildServers(_Action):
    """Build servers anew on their hosts; what they wrote is lost."""

    ACTION, TITLE = "rebuild", "Rebuilding"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--image", required=True, help="what is run (id or name)")
        parser.add_argument("--name", help="new name")

    def arguments(self, parsed_args: argparse.Namespace) -> Any:
        image = find_image(self.api, parsed_args.image)["id"]
        return _without_none({"imageRef": image, "name": parsed_args.name})


class ResizeServers(_Action):
    """Give servers another flavor; then confirm or revert it."""

    ACTION, TITLE = "resize", "Resizing"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--flavor", required=True, help="new size (id or name)")

    def arguments(self, parsed_args: argparse.Namespace) -> Any:
        return {"flavorRef": find_flavor(self.api, parsed_args.flavor)["id"]}


class ConfirmServers(_Action):
    """Confirm a resize or migration: give up what is kept at the source."""

    ACTION, TITLE = "confirmResize", "Confirming"


class RevertServers(_Action):
    """Revert a resize or migration: go back to the source."""

    ACTION, TITLE = "revertResize", "Reverting"


class _ToHost(_Action):
    """An action that may name a host."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--host", help="where to; the filters are run (default: any)")

    def arguments(self, parsed_args: argparse.Namespace) -> Any:
        return _without_none({"host": parsed_args.host})


class MigrateServers(_ToHost):
    """Move servers; off meanwhile, then to be confirmed, or --live (administrators)."""

    ACTION, TITLE = "migrate", "Migrating"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--live", action="store_true", help="while they run")

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        if parsed_args.live:
            self.ACTION = "os-migrateLive"
        return super().take_action(parsed_args)


class EvacuateServers(_ToHost):
    """Build servers of a dead host anew elsewhere (administrators)."""

    ACTION, TITLE = "evacuate", "Evacuating"


class ShelveServers(_Action):
    """Put servers away: off, and off their hosts after [DEFAULT] shelved_offload_time."""

    ACTION, TITLE = "shelve", "Shelving"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--offload", action="store_true", help="take shelved ones off their hosts now"
        )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        if parsed_args.offload:
            self.ACTION = "shelveOffload"
        return super().take_action(parsed_args)


class UnshelveServers(_Action):
    """Bring shelved servers back."""

    ACTION, TITLE = "unshelve", "Unshelving"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--availability-zone", metavar="ZONE", help="another zone")
        parser.add_argument("--host", help="this host (administrators)")

    def arguments(self, parsed_args: argparse.Namespace) -> Any:
        wanted = {"availability_zone": parsed_args.availability_zone, "host": parsed_args.host}
        return _without_none(wanted)


class LockServers(_Action):
    """Let nobody but administrators change servers."""

    ACTION, TITLE = "lock", "Locking"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--reason", help="why")

    def arguments(self, parsed_args: argparse.Namespace) -> Any:
        return _without_none({"locked_reason": parsed_args.reason})


class UnlockServers(_Action):
    """Let servers be changed again."""

    ACTION, TITLE = "unlock", "Unlocking"


class RestoreServers(_Action):
    """Restore deleted servers that are kept for [DEFAULT] reclaim_instance_interval."""

    ACTION, TITLE = "restore", "Restoring"


class ShowConsole(ApiCommand):
    """Show what a server wrote last."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("server", help="id or name")
        parser.add_argument(
            "--lines", metavar="N", type=arguments.positive, help="so many (default: all kept)"
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
