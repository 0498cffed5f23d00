"""Every combination of journal, guest and conductor, and what is to be done about it."""

from typing import Any

import pytest

from compute_agent.journal.journal import Entry, Kind, Snapshot, State
from compute_agent.reporting.reconcile_plan import (
    Action,
    Adopt,
    Delete,
    Destroy,
    Renew,
    ReportAgain,
    ReportPower,
    plan,
)
from compute_agent.virt.driver import GuestInfo
from objects.instance import Instance
from tests import builders

HOST = "host1"
UUID = builders.a_uuid()
KEY = (HOST, UUID)
NOTHING = "nothing"
DELETE = Delete(KEY)
AGAIN = ReportAgain(KEY, 1)
STARTED = ReportPower(KEY, 1, "running", None)
BUILT, ENDED = Kind.BUILD_SUCCEEDED, Kind.INSTANCE_ENDED


def entry(state: str | None, *, attempt: int = 1, is_silent: bool = False) -> Entry | None:
    if state is None:
        return None
    return Entry(
        host=HOST, instance_uuid=UUID, attempt=attempt, state=State(state), is_claimed=True,
        is_dirty=False, is_silent=is_silent, exit_code=None, vcpus=1, memory_mb=1, disk_gb=1,
        project_id=None, os_type=None, group_uuid=None, request_id=None,
    )  # fmt: skip


def guest(power_state: str | None) -> GuestInfo | None:
    if power_state is None:
        return None
    return GuestInfo(UUID, power_state, 5 if power_state == "shutdown" else None)


def listed(vm_state: str | None, task_state: str | None = None) -> Instance | None:
    if vm_state is None:
        return None
    return builders.an_instance(
        uuid=UUID, host=HOST, vm_state=vm_state, task_state=task_state, attempt=1,
        power_state=None if vm_state == "error" else "running",
    )  # fmt: skip


def planned(
    entry: Entry | None, guest: GuestInfo | None, instance: Instance | None, **more: Any
) -> list[Action]:
    snapshot = Snapshot(
        entries={KEY: entry} if entry else {},
        serials={},
        unreported=frozenset(more.get("unreported", ())),
    )
    return plan(
        more.get("hosts", [HOST]),
        snapshot,
        {KEY: guest} if guest else {},
        [instance] if instance else [],
    )


ENTRIES = (None, "building", "running", "ended", "deleting")
GUESTS = (None, "running", "shutdown")
LISTED = (None, "building", "active", "stopped", "error", "deleting")

# (journal, conductor) -> what to do with no guest, a running one, an ended one.
MATRIX: dict[tuple[str | None, str | None], tuple[Any, Any, Any]] = {
    # Nothing in the journal: it never was, or the journal is lost.
    (None, None): (NOTHING, Destroy(KEY, 0), Destroy(KEY, 0)),
    (None, "building"): (NOTHING, (False, [BUILT]), (True, [BUILT, ENDED])),
    (None, "active"): ((True, [ENDED]), (False, []), (True, [ENDED])),
    (None, "stopped"): ((True, []), (False, [Kind.POWER_CHANGED]), (True, [])),
    (None, "error"): (NOTHING, Destroy(KEY, 1), Destroy(KEY, 1)),
    (None, "deleting"): (DELETE, DELETE, DELETE),
    # A build under way goes on and is reported; the conductor decides on the report.
    ("building", None): (NOTHING, NOTHING, NOTHING),
    ("building", "building"): (NOTHING, NOTHING, NOTHING),
    ("building", "active"): (NOTHING, NOTHING, NOTHING),
    ("building", "stopped"): (NOTHING, NOTHING, NOTHING),
    ("building", "error"): (NOTHING, NOTHING, NOTHING),
    ("building", "deleting"): (DELETE, DELETE, DELETE),
    # Running by the journal; that a guest is not there is noticed elsewhere, every second.
    ("running", None): (Destroy(KEY, 1), Destroy(KEY, 1), Destroy(KEY, 1)),
    ("running", "building"): (AGAIN, AGAIN, AGAIN),
    ("running", "active"): (NOTHING, NOTHING, NOTHING),
    ("running", "stopped"): (NOTHING, STARTED, NOTHING),
    ("running", "error"): (NOTHING, NOTHING, NOTHING),
    ("running", "deleting"): (DELETE, DELETE, DELETE),
    # Ended by the journal.
    ("ended", None): (Destroy(KEY, 1), Destroy(KEY, 1), Destroy(KEY, 1)),
    ("ended", "building"): (AGAIN, AGAIN, AGAIN),
    ("ended", "active"): (AGAIN, STARTED, AGAIN),
    ("ended", "stopped"): (NOTHING, STARTED, NOTHING),
    ("ended", "error"): (NOTHING, STARTED, NOTHING),
    ("ended", "deleting"): (DELETE, DELETE, DELETE),
    # Being deleted already.
    ("deleting", None): (NOTHING, NOTHING, NOTHING),
    ("deleting", "building"): (NOTHING, NOTHING, NOTHING),
    ("deleting", "active"): (NOTHING, NOTHING, NOTHING),
    ("deleting", "stopped"): (NOTHING, NOTHING, NOTHING),
    ("deleting", "error"): (NOTHING, NOTHING, NOTHING),
    ("deleting", "deleting"): (NOTHING, NOTHING, NOTHING),
}


def test_the_matrix_is_complete() -> None:
    """Each combination is decided here."""
    assert set(MATRIX) == {(in_journal, known) for in_journal in ENTRIES for known in LISTED}


@pytest.mark.parametrize(("in_journal", "known"), MATRIX, ids=str)
@pytest.mark.parametrize("found", GUESTS, ids=str)
def test_each_combination_has_its_action(
    in_journal: str | None, found: str | None, known: str | None
) -> None:
    """What is not known is destroyed, what is known is kept, what was missed is told."""
    instance = listed("active", "deleting") if known == "deleting" else listed(known)
    expected = MATRIX[in_journal, known][GUESTS.index(found)]
    actions = planned(entry(in_journal), guest(found), instance)
    if expected == NOTHING:
        assert actions == []
    elif isinstance(expected, tuple):
        has_ended, reports = expected
        assert instance is not None
        exit_code = 5 if found == "shutdown" else None
        assert actions == [Adopt(instance, has_ended, exit_code, tuple(reports))]
    else:
        assert actions == [expected]


@pytest.mark.parametrize(
    ("known", "found"),
    [("active", "paused"), ("active", "suspended"), ("paused", "running"), ("suspended", "paused"),
     ("stopped", "paused")],
    ids=lambda each: each,
)  # fmt: skip
def test_a_guest_that_stands_still_or_goes_on_unnoticed_is_reported(known: str, found: str) -> None:
    """Unless an operation is under way, or the record says the same."""
    report = ReportPower(KEY, 1, found, None)
    assert planned(entry("running"), guest(found), listed(known)) == [report]
    assert planned(entry("running"), guest(found), listed(known, "rebooting")) == []
    same = {"running": "active"}.get(found, found)
    assert planned(entry("running"), guest(found), listed(same)) == []


def test_a_guest_whose_record_an_administrator_set_to_error_is_kept() -> None:
    """Unlike that of a failed build, its record has a power state."""
    instance = builders.an_instance(uuid=UUID, host=HOST, vm_state="error", attempt=1)
    assert planned(None, guest("running"), instance) == [Adopt(instance, False, None, ())]


@pytest.mark.parametrize("in_journal", ENTRIES, ids=str)
def test_what_waits_for_an_answer_is_left_to_it(in_journal: str | None) -> None:
    """The answer to its report will say whether it may stay."""
    assert planned(entry(in_journal), guest("running"), None, unreported=[UUID]) == []


def test_hosts_that_could_not_be_looked_at_are_left_alone() -> None:
    """Their guests are unknown, and their instances not asked for."""
    assert planned(entry("running"), None, None, hosts=["host2"]) == []


def test_an_instance_that_moved_to_another_host_is_a_stray_here() -> None:
    """Known is not enough: it has to be known on this host."""
    elsewhere = builders.an_instance(uuid=UUID, host="host2")
    assert planned(entry("running"), guest("running"), elsewhere) == [Destroy(KEY, 1)]


def test_a_later_attempt_on_the_way_here_is_waited_for() -> None:
    """The command to build it will replace what runs."""
    coming = builders.an_instance(uuid=UUID, host=HOST, vm_state="building", attempt=2)
    assert planned(entry("running"), guest("running"), coming) == []


def test_a_silent_end_becomes_a_delete_when_the_conductor_waits_for_one() -> None:
    """Else it would wait for ever."""
    waiting = listed("active", "deleting")
    assert planned(entry("deleting", is_silent=True), guest("running"), waiting) == [DELETE]


@pytest.mark.parametrize("state", ["running", "ended", "arriving", "leaving", "deleting"])
def test_an_entry_that_is_older_than_the_record_is_renewed(state: str) -> None:
    """The journal comes from an older copy: the instance left this host, and came back."""
    back = builders.an_instance(uuid=UUID, host=HOST, vm_state="active", attempt=3)
    former = entry(state, is_silent=True)
    assert planned(former, guest("running"), back) == [Renew(back, False, None, None)]
    assert planned(former, guest("shutdown"), back) == [Renew(back, True, 5, None)]
    back.task_state = "powering-off"
    assert planned(former, guest("running"), back) == []
