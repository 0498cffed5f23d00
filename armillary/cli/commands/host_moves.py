"""Take all servers off a host: a dead one (evacuate), or one that is to be worked on (drain)."""

from __future__ import annotations

import argparse
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from armillary import exception
from armillary.cli.commands import arguments, wait
from armillary.cli.commands.base import ApiCommand
from armillary.cli.commands.columns import printable
from armillary.cli.commands.failures import last_failure
from armillary.cli.commands.find import find_service
from armillary.cli.commands.progress import Show, progress
from armillary.cli.http_client import ApiNotFound, ApiRefused, Document

LOG = logging.getLogger(__name__)

MOVE_TIMEOUT_SECONDS = 900.0
AT_ONCE = wait.ASK_ONE_BY_ONE_MAX

RUNS = "ACTIVE"
TO_CONFIRM = "VERIFY_RESIZE"
SHELVED, OFFLOAD = "SHELVED", "shelveOffload"
EVACUATE = "evacuate"
COLD = "migrate"
CONFIRM = "confirmResize"
MOVES = {RUNS: "os-migrateLive", "SHUTOFF": COLD, SHELVED: OFFLOAD}
"""Status -> the action by which such a server leaves its host."""

# What became of a server.
MOVED, GONE, LEFT, UNCONFIRMED = "moved", "gone", "left", "not confirmed"


class ServersLeft(exception.ArmillaryError):
    """Some servers still have something on the host."""

    template = "%(left)s of %(total)s servers did not leave host %(host)s; why is said above."


class HostNotEvacuable(exception.Invalid):
    """A host is up, or counted as such."""

    template = (
        "Host %(host)s is up. If it is dead for sure: armillary service set %(host)s --down. "
        "If it is to be emptied: armillary host drain %(host)s"
    )


class _OffHost(ApiCommand):
    """Moves all servers of a host, some at a time; one that cannot is named and left."""

    TITLE: str

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("host", help="name, or id of its service")
        parser.add_argument(
            "--timeout",
            metavar="SECONDS",
            type=arguments.seconds,
            default=MOVE_TIMEOUT_SECONDS,
            help="how long a server is waited for (default: %(default)g)",
        )
        return parser

    def servers_of(self, host: str) -> list[Document]:
        """Return the servers on a host, by name."""
        query = {"host": host, "all_tenants": "true"}
        found = self.items("servers", "servers", "detail", query=query)
        return sorted(found, key=lambda server: (server["name"], server["id"]))

    def ask(self, server: Document, action: str) -> bool:
        """Ask for an action; say why not, and return False, when it is refused."""
        try:
            self.api.post("servers", server["id"], "action", body={action: None})
        except ApiNotFound:
            return True  # somebody deleted it: it is not there any more
        except ApiRefused as error:
            _say(server, error.message)
            return False
        return True

    def wait_for(self, servers: Sequence[Document], seconds: float) -> None:
        """Wait until nothing is being done to these, or say that it takes too long."""
        pace = wait.Pace(seconds)
        try:
            wait.wait_until_at_rest(self.api, [one["id"] for one in servers], pace, _show_nothing)
        except wait.WaitTimeout as error:
            LOG.warning("%s", error.message)

    def now(self, server: Document) -> Document | None:
        """Return a server as it is now, None when it is gone."""
        try:
            found: Document = self.api.get("servers", server["id"])["server"]
        except ApiNotFound:
            return None
        return found

    def why(self, server: Document) -> str:
        """Return why a server is where it is after it was to be moved."""
        task = server["OS-EXT-STS:task_state"]
        if task:
            return f"it is still {task}"
        return last_failure(self.api, server["id"]) or f"it is {server['status']}"

    def judge(self, server: Document, host: str, *, says: bool) -> str:
        """Return what became of a server, and say why it stayed unless that was said before."""
        present = self.now(server)
        if present is None:
            return GONE
        if present["OS-EXT-SRV-ATTR:host"] != host:
            return MOVED
        if says:
            _say(present, self.why(present))
        return LEFT

    def show_progress(self, total: int) -> Any:
        """Lend what shows how many servers are off the host."""
        quiet = self.application.options.verbose_level == 0
        return progress(self.application.stderr, self.TITLE, total, quiet=quiet)


class EvacuateHost(_OffHost):
    """Build all servers of a dead host anew elsewhere; shelved ones only leave (administrators)."""

    TITLE = "Evacuating"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--wait", action="store_true", help="return when they are elsewhere, and say which not"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        service = find_service(self.api, parsed_args.host)
        host = service["host"]
        if service["state"] == "up":
            raise HostNotEvacuable(host=host)
        servers = self.servers_of(host)
        asked: list[Document] = []
        states: Counter[str] = Counter()
        with self.show_progress(len(servers)) as show:
            for server in servers:
                if self.ask(server, OFFLOAD if server["status"] == SHELVED else EVACUATE):
                    asked.append(server)
                else:
                    states[LEFT] += 1
                show(0, {"asked for": len(asked), **states})
            if parsed_args.wait:
                self._wait(asked, host, parsed_args.timeout, states, show)
        return _ended(states, host, len(servers))

    def _wait(
        self, asked: Sequence[Document], host: str, seconds: float, states: Counter[str], show: Show
    ) -> None:
        for some in _in_parts(asked):
            self.wait_for(some, seconds)
            states.update(self.judge(server, host, says=True) for server in some)
            show(states.total(), states)


class DrainHost(_OffHost):
    """Take no new servers on a host and move those that it has away (administrators).

    Running ones move while they run; those that are off are migrated and confirmed, shelved ones
    offloaded.
    """

    TITLE = "Draining"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--reason", metavar="TEXT", default="drained", help="why (default: %(default)s)"
        )
        parser.add_argument(
            "--cold", action="store_true", help="running ones too are off while they move"
        )
        parser.add_argument("--undo", action="store_true", help="only take new servers again")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        service = find_service(self.api, parsed_args.host)
        if parsed_args.undo:
            self.api.put("os-services", service["id"], body={"status": "enabled"})
            return 0
        change = {"status": "disabled", "disabled_reason": parsed_args.reason}
        self.api.put("os-services", service["id"], body=change)
        host = service["host"]
        servers = self.servers_of(host)
        moves = {**MOVES, RUNS: COLD} if parsed_args.cold else MOVES
        states: Counter[str] = Counter()
        with self.show_progress(len(servers)) as show:
            show(0, {"on the host": len(servers)})
            for some in _in_parts(servers):
                states.update(self._move(some, host, moves, parsed_args.timeout))
                show(states.total(), states)
        return _ended(states, host, len(servers))

    def _move(
        self, some: Sequence[Document], host: str, moves: Mapping[str, str], seconds: float
    ) -> list[str]:
        """Move some servers at the same time; return what became of each."""
        self.wait_for(some, seconds)  # builds and other operations come to their ends first
        asked = [server for server in some if self._ask(server, host, moves)]
        self.wait_for(asked, seconds)
        states = {one["id"]: self.judge(one, host, says=one in asked) for one in some}
        moved = [one for one in asked if states[one["id"]] == MOVED]
        states.update(self._confirm(moved, seconds))
        return list(states.values())

    def _ask(self, server: Document, host: str, moves: Mapping[str, str]) -> bool:
        """Ask for a server's move; False when it needs none, or cannot be moved."""
        present = self.now(server)
        if present is None or present["OS-EXT-SRV-ATTR:host"] != host:
            return False
        if present["status"] not in moves:
            _say(present, f"it is {present['status']}; only {', '.join(moves)} ones are moved")
            return False
        return self.ask(present, moves[present["status"]])

    def _confirm(self, moved: Sequence[Document], seconds: float) -> dict[str, str]:
        """Confirm those that wait for it; return those that could not be."""
        waiting = [one for one in map(self.now, moved) if one and one["status"] == TO_CONFIRM]
        asked = [server for server in waiting if self.ask(server, CONFIRM)]
        self.wait_for(asked, seconds)
        unconfirmed = {one["id"]: UNCONFIRMED for one in waiting if one not in asked}
        for server in filter(None, map(self.now, asked)):
            if server["status"] == TO_CONFIRM:
                _say(server, self.why(server))
                unconfirmed[server["id"]] = UNCONFIRMED
        return unconfirmed


def _ended(states: Counter[str], host: str, total: int) -> int:
    """Return 0 when all are off the host. Raises ``ServersLeft``."""
    left = states[LEFT] + states[UNCONFIRMED]
    if left:
        raise ServersLeft(left=left, total=total, host=host)
    return 0


def _say(server: Document, reason: str) -> None:
    LOG.error("%s (%s): %s", server["id"], printable(server["name"]), printable(reason))


def _in_parts(servers: Sequence[Document]) -> Iterable[Sequence[Document]]:
    for start in range(0, len(servers), AT_ONCE):
        yield servers[start : start + AT_ONCE]


def _show_nothing(done: int, counts: Mapping[str, int]) -> None:
    """Leave the progress as it is: it counts servers that are off the host."""
