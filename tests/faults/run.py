"""One plan: what was asked, what went wrong meanwhile, and what came of it."""

import time
from collections.abc import Callable, Sequence

from tests.faults import checks
from tests.faults.faults import Faults
from tests.faults.operations import Accepted, Users
from tests.faults.plan import make_plan
from tests.faults.records import Records
from tests.faults.report import Outcome
from tests.faults.watch import Watch
from tests.faults.world import READY_SECONDS_MAX, FaultyDeployment
from tests.fixtures.asking import wait_for
from tests.fixtures.waiting import Deadline

QUIET_SECONDS_MAX = 240
REPAIR_SECONDS_MAX = 60
"""Seconds within which the periodic checks of hosts and cells correct a difference."""

Say = Callable[[str], None]


class Run:
    """Plans on one deployment, one after the other."""

    def __init__(self, deployment: FaultyDeployment, say: Say, *, pace: float = 1.0) -> None:
        self._deployment = deployment
        self._pace = pace
        self._say = say
        self._records = Records(deployment)
        self._accepted: list[Accepted] = []

    def play(self, seed: int, faults: int, operations: int) -> Outcome:
        """Play a plan, mend all, wait for quiet, and compare all that is there."""
        deployment = self._deployment
        agents = list(deployment.agents)
        services = [name for name in deployment.processes if name not in agents]
        plan = make_plan(seed, faults, operations, services, agents, pace=self._pace)
        users = Users(deployment, seed, operations, self._say)
        striking = Faults(deployment, plan, lambda: len(users.accepted), self._say)
        watch = Watch(self._records, pace=self._pace)
        users.prepare()
        repeated = deployment.network.repeated
        began_at = time.monotonic()
        watch.start()
        try:
            self._ask_and_strike(users, striking)
            mended_at = time.monotonic()
            self._accepted += users.accepted
            findings = self._await_quiet()
        finally:
            watch.stop()
        return Outcome(
            seed=seed,
            faults=dict(striking.struck),
            repeated=deployment.network.repeated - repeated,
            accepted=_count(users.accepted),
            refused=dict(users.refused),
            unknown=dict(users.unknown),
            findings=[*sorted(watch.found), *findings],
            seconds=mended_at - began_at,
            quiet_seconds=time.monotonic() - mended_at,
        )

    def _ask_and_strike(self, users: Users, striking: Faults) -> None:
        """Return when all was asked, all went wrong, and all is mended."""
        users.start()
        striking.start()
        try:
            while not (users.are_done and striking.are_over):
                time.sleep(0.2)
        finally:
            users.stop()
            striking.stop()
        self._say("all is mended")

    def clear(self) -> list[str]:
        """Delete all servers; return what is there all the same."""
        for server in self._deployment.servers():
            path = f"/servers/{server['id']}/action"
            self._deployment.request("POST", path, json={"forceDelete": None})
        findings = self._await_quiet()
        findings += [f"{guest} is left" for guest in self._records.guests()]
        living = [row["uuid"] for cell in self._records.cells
                  for row in self._records.rows(cell, "instances")
                  if row["deleted_at"] is None]  # fmt: skip
        return findings + [f"{uuid} is left" for uuid in living]

    def _await_quiet(self) -> list[str]:
        """Wait until nothing is left to do; return what is, or what is not as it must be."""
        self._deployment.revive()
        wait_for(self._deployment.answers, "the API answers", READY_SECONDS_MAX, 0.5)
        agents = list(self._deployment.agents)
        found = _until_empty(
            lambda: checks.left(self._records, agents), QUIET_SECONDS_MAX * self._pace
        )
        if found:
            return [f"never done: {what}" for what in found]
        self._say("nothing is left to do")
        return _until_empty(
            lambda: (
                checks.left(self._records, agents)
                or checks.Checks(self._records, self._accepted).check()
            ),
            REPAIR_SECONDS_MAX * self._pace,
        )


def _until_empty(look: Callable[[], list[str]], seconds: float) -> list[str]:
    """Return what the last check found: nothing, or what was there for so long."""
    deadline = Deadline(seconds)
    while (found := look()) and not deadline.has_passed:
        time.sleep(1.0)
    return found


def _count(accepted: Sequence[Accepted]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for request in accepted:
        counts[request.operation] = counts.get(request.operation, 0) + 1
    return counts
