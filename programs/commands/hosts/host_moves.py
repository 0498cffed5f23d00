"""Moving all servers off a host: ``host evacuate`` if it is dead, ``host drain`` otherwise."""

import logging
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from armillary import exception
from armillary.table_columns import printable
from programs.access.errors import ApiNotFound, ApiRefused
from programs.commands import arguments, wait
from programs.commands.base import ApiCommand
from programs.commands.lookup import find_service
from programs.commands.servers.failures import last_failure
from programs.commands.servers.server import HOST, TASK
from programs.display.progress import Show, counts_text
from programs.http_client import Document

LOG = logging.getLogger(__name__)

MOVE_TIMEOUT_SECONDS = 900.0
AT_ONCE = wait.ASK_ONE_BY_ONE_MAX

RUNS, PAUSED = "ACTIVE", "PAUSED"
LIVE = "os-migrateLive"
TO_CONFIRM = "VERIFY_RESIZE"
SHELVED, OFFLOAD = "SHELVED", "shelveOffload"
EVACUATE = "evacuate"
COLD = "migrate"
CONFIRM = "confirmResize"
MOVES = {RUNS: LIVE, PAUSED: LIVE, "SHUTOFF": COLD, SHELVED: OFFLOAD}
"""Status -> the action that takes a server of this status off its host."""

# Outcome for a server.
MOVED, GONE, LEFT, UNCONFIRMED = "moved", "gone", "left", "not confirmed"


class ServersLeft(exception.ArmillaryError):
    """Some servers could not be moved off the host."""

    template = (
        "%(left)s of %(total)s did not leave host %(host)s (%(states)s); see the reasons above."
    )


class HostNotEvacuable(exception.Invalid):
    """The host is up, or counts as up."""

    template = (
        "Host %(host)s is up. If you are sure that it is dead: armillary service set "
        "%(host)s --down. To drain it: armillary host drain %(host)s"
    )


class _MoveServersOff(ApiCommand):
    """Move all servers of a host, a few at a time; report servers that cannot move."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("host", help="name, or id of its service")
        parser.add_argument(
            "--timeout",
            metavar="SECONDS",
            type=arguments.seconds,
            default=MOVE_TIMEOUT_SECONDS,
            help="timeout per server in seconds (default: %(default)g)",
        )

    def servers_of(self, host: str) -> list[Document]:
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
            # the outer progress counts servers off the host
            uuids = [server["id"] for server in servers]
            wait.wait_until_idle(self.api, uuids, pace, lambda done, counts: None)
        except wait.WaitTimeout as error:
            LOG.warning("%s", error.message)

    def now(self, server: Document) -> Document | None:
        try:
            found: Document = self.api.get("servers", server["id"])["server"]
        except ApiNotFound:
            return None
        return found

    def why(self, server: Document) -> str:
        task = server[TASK]
        if task:
            return f"{task} is still in progress"
        return last_failure(self.api, server["id"]) or f"it is {server['status']}"

    def outcome_of(self, server: Document, host: str, *, says: bool) -> str:
        """Return the outcome for a server, and report why it stayed unless reported already."""
        present = self.now(server)
        if present is None:
            return GONE
        if present[HOST] != host:
            return MOVED
        if says:
            _say(present, self.why(present))
        return LEFT

    def end(self, states: Counter[str], host: str, total: int) -> int:
        """Return 0 if all servers are off the host. Raises ``ServersLeft``."""
        left = states[LEFT] + states[UNCONFIRMED]
        if left:
            raise ServersLeft(left=left, total=total, host=host, states=counts_text(states))
        if not total:
            self.report(f"There are no servers on {host}.")
        elif states:
            self.report(f"{total} of {total} left {host} ({counts_text(states)})")
        return 0


class EvacuateHost(_MoveServersOff):
    """Rebuild all servers of a dead host elsewhere; shelved ones are offloaded (administrators)."""

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--wait", action="store_true", help="wait until they are elsewhere, and report failures"
        )

    def take_action(self, parsed_args: Namespace) -> int:
        service = find_service(self.api, parsed_args.host)
        host = service["host"]
        if service["state"] == "up":
            raise HostNotEvacuable(host=host)
        servers = self.servers_of(host)
        asked: list[Document] = []
        states: Counter[str] = Counter()
        with self.progress(f"Evacuating {host}", len(servers)) as show:
            for server in servers:
                if self.ask(server, OFFLOAD if server["status"] == SHELVED else EVACUATE):
                    asked.append(server)
                else:
                    states[LEFT] += 1
                show(0, {"requested": len(asked), **states})
            if parsed_args.wait:
                self._wait(asked, host, parsed_args.timeout, states, show)
        return self.end(states, host, len(servers))

    def _wait(
        self, asked: Sequence[Document], host: str, seconds: float, states: Counter[str], show: Show
    ) -> None:
        for some in _in_parts(asked):
            self.wait_for(some, seconds)
            states.update(self.outcome_of(server, host, says=True) for server in some)
            show(states.total(), states)


class DrainHost(_MoveServersOff):
    """Disable a host and move its servers away (administrators).

    Running and paused servers are live-migrated; stopped ones are migrated and confirmed, shelved
    ones offloaded.
    """

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--reason", metavar="TEXT", default="drained", help="reason (default: %(default)s)"
        )
        parser.add_argument(
            "--cold",
            action="store_true",
            help="cold-migrate running servers, too; they are off while they move",
        )
        parser.add_argument("--undo", action="store_true", help="only enable the host again")

    def take_action(self, parsed_args: Namespace) -> int:
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
        with self.progress(f"Draining {host}", len(servers)) as show:
            show(0, {"on the host": len(servers)})
            for some in _in_parts(servers):
                states.update(self._move(some, host, moves, parsed_args.timeout))
                show(states.total(), states)
        return self.end(states, host, len(servers))

    def _move(
        self, some: Sequence[Document], host: str, moves: Mapping[str, str], seconds: float
    ) -> list[str]:
        """Move some servers at the same time; return the outcome for each."""
        self.wait_for(some, seconds)  # first let builds and other operations finish
        asked = [server for server in some if self._ask(server, host, moves)]
        self.wait_for(asked, seconds)
        states = {one["id"]: self.outcome_of(one, host, says=one in asked) for one in some}
        moved = [one for one in asked if states[one["id"]] == MOVED]
        states.update(self._confirm(moved, seconds))
        return list(states.values())

    def _ask(self, server: Document, host: str, moves: Mapping[str, str]) -> bool:
        """Request a server's move; return False if it needs none, or cannot be moved."""
        present = self.now(server)
        if present is None or present[HOST] != host:
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


def _say(server: Document, reason: str) -> None:
    LOG.error("%s (%s): %s", server["id"], printable(server["name"]), printable(reason))


def _in_parts(servers: Sequence[Document]) -> Iterable[Sequence[Document]]:
    for start in range(0, len(servers), AT_ONCE):
        yield servers[start : start + AT_ONCE]
