"""Moving all servers off a host: ``host evacuate`` if it is dead, ``host drain`` otherwise."""

from __future__ import annotations

import argparse
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from armillary import exception
from armillary.table_columns import printable
from programs.commands import arguments, wait
from programs.commands.base import ApiCommand
from programs.commands.failures import last_failure
from programs.commands.lookup import find_service
from programs.commands.progress import Show, progress
from programs.http_client import ApiNotFound, ApiRefused, Document

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
"""Status -> the action that takes a server of this status off its host."""

# Outcome for a server.
MOVED, GONE, LEFT, UNCONFIRMED = "moved", "gone", "left", "not confirmed"


class ServersLeft(exception.ArmillaryError):
    """Some servers could not be moved off the host."""

    template = "%(left)s of %(total)s servers did not leave host %(host)s; see the reasons above."


class HostNotEvacuable(exception.Invalid):
    """The host is up, or counts as up."""

    template = (
        "Host %(host)s is up. If you are sure that it is dead: armillary service set "
        "%(host)s --down. To drain it: armillary host drain %(host)s"
    )


class _MoveServersOff(ApiCommand):
    """Move all servers of a host, a few at a time; report servers that cannot move."""

    TITLE: str

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("host", help="name, or id of its service")
        parser.add_argument(
            "--timeout",
            metavar="SECONDS",
            type=arguments.seconds,
            default=MOVE_TIMEOUT_SECONDS,
            help="timeout per server in seconds (default: %(default)g)",
        )
        return parser

    def servers_of(self, host: str) -> list[Document]:
        """Return the servers on a host, sorted by name."""
        query = {"host": host, "all_tenants": "true"}
        found = self.items("servers", "servers", "detail", query=query)
        return sorted(found, key=lambda server: (server["name"], server["id"]))

    def ask(self, server: Document, action: str) -> bool:
        """Request an action; if it is refused, report why and return False."""
        try:
            self.api.post("servers", server["id"], "action", body={action: None})
        except ApiNotFound:
            return True  # deleted concurrently, so it is off the host
        except ApiRefused as error:
            _say(server, error.message)
            return False
        return True

    def wait_for(self, servers: Sequence[Document], seconds: float) -> None:
        """Wait until no task is in progress on these servers, or report a timeout."""
        pace = wait.Pace(seconds)
        try:
            wait.wait_until_idle(self.api, [one["id"] for one in servers], pace, _ignore_progress)
        except wait.WaitTimeout as error:
            LOG.warning("%s", error.message)

    def now(self, server: Document) -> Document | None:
        """Return the current state of a server, None if it is gone."""
        try:
            found: Document = self.api.get("servers", server["id"])["server"]
        except ApiNotFound:
            return None
        return found

    def why(self, server: Document) -> str:
        """Return why a server is still on its host."""
        task = server["OS-EXT-STS:task_state"]
        if task:
            return f"{task} is still in progress"
        return last_failure(self.api, server["id"]) or f"it is {server['status']}"

    def judge(self, server: Document, host: str, *, says: bool) -> str:
        """Return the outcome for a server, and report why it stayed unless reported already."""
        present = self.now(server)
        if present is None:
            return GONE
        if present["OS-EXT-SRV-ATTR:host"] != host:
            return MOVED
        if says:
            _say(present, self.why(present))
        return LEFT

    def show_progress(self, total: int) -> Any:
        """Return a context that shows how many servers are off the host."""
        quiet = self.application.options.verbose_level == 0
        return progress(self.application.stderr, self.TITLE, total, quiet=quiet)


class EvacuateHost(_MoveServersOff):
    """Rebuild all servers of a dead host elsewhere; shelved ones are offloaded (administrators)."""

    TITLE = "Evacuating"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--wait", action="store_true", help="wait until they are elsewhere, and report failures"
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
                show(0, {"requested": len(asked), **states})
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


class DrainHost(_MoveServersOff):
    """Disable a host and move its servers away (administrators).

    Running servers are live-migrated; stopped ones are migrated and confirmed, shelved ones
    offloaded.
    """

    TITLE = "Draining"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--reason", metavar="TEXT", default="drained", help="reason (default: %(default)s)"
        )
        parser.add_argument(
            "--cold",
            action="store_true",
            help="cold-migrate running servers, too; they are off while they move",
        )
        parser.add_argument("--undo", action="store_true", help="only enable the host again")
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
        """Move some servers at the same time; return the outcome for each."""
        self.wait_for(some, seconds)  # first let builds and other operations finish
        asked = [server for server in some if self._ask(server, host, moves)]
        self.wait_for(asked, seconds)
        states = {one["id"]: self.judge(one, host, says=one in asked) for one in some}
        moved = [one for one in asked if states[one["id"]] == MOVED]
        states.update(self._confirm(moved, seconds))
        return list(states.values())

    def _ask(self, server: Document, host: str, moves: Mapping[str, str]) -> bool:
        """Request a server's move; return False if it needs none, or cannot be moved."""
        present = self.now(server)
        if present is None or present["OS-EXT-SRV-ATTR:host"] != host:
            return False
        if present["status"] not in moves:
            _say(
                present,
                f"its status is {present['status']}; only {', '.join(moves)} servers are moved",
            )
            return False
        return self.ask(present, moves[present["status"]])

    def _confirm(self, moved: Sequence[Document], seconds: float) -> dict[str, str]:
        """Confirm pending moves; return those that failed."""
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
    """Return 0 if all servers are off the host. Raises ``ServersLeft``."""
    left = states[LEFT] + states[UNCONFIRMED]
    if left:
        raise ServersLeft(left=left, total=total, host=host)
    return 0


def _say(server: Document, reason: str) -> None:
    LOG.error("%s (%s): %s", server["id"], printable(server["name"]), printable(reason))


def _in_parts(servers: Sequence[Document]) -> Iterable[Sequence[Document]]:
    for start in range(0, len(servers), AT_ONCE):
        yield servers[start : start + AT_ONCE]


def _ignore_progress(done: int, counts: Mapping[str, int]) -> None:
    """Ignore progress updates: the outer progress counts servers off the host."""
