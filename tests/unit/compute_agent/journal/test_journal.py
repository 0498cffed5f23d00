"""The journal: what is written down, what is refused, what survives."""

import logging
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from armillary import exception
from compute_agent.journal.journal import (
    FENCE_KEEP_SECONDS,
    Acceptance,
    Entry,
    Journal,
    Kind,
    Result,
    State,
)
from compute_agent.journal.journal_file import STEPS
from objects.instance import Instance
from objects.request_spec import RequestSpec
from tests import builders
from tests.fixtures.agent import HOSTS, a_build

HOST, OTHER_HOST = HOSTS


class Clock:
    """Seconds that stand still."""

    seconds = 1_000_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    """Return the journal's clock."""
    return Clock()


@pytest.fixture
def journal(tmp_path: Path, clock: Clock) -> Iterator[Journal]:
    """Return an open, empty journal."""
    journal = Journal(tmp_path / "journal.sqlite", clock)
    journal.open()
    yield journal
    journal.close()


def running(journal: Journal, host: str = HOST, **values: object) -> Instance:
    """Return an instance that the journal has as built, and whose report was answered."""
    instance, spec = a_build(host, **values)
    accept(journal, instance, spec)
    journal.claim(host, instance.uuid, instance.attempt)
    journal.finish_build(host, instance.uuid, instance.attempt, power_state="running")
    answer_all(journal)
    return instance


def answer_all(journal: Journal) -> list[Kind]:
    """Answer all reports, and return what they were."""
    kinds = []
    while reports := journal.next_reports(1):
        kinds.append(reports[0].kind)
        journal.remove_reports(reports)
    return kinds


def entry(journal: Journal, instance: Instance) -> Entry | None:
    return journal.find(str(instance.host), instance.uuid)


def accept(journal: Journal, instance: Instance, spec: RequestSpec) -> Acceptance:
    (acceptance,) = journal.accept_builds([(instance, spec)])
    return acceptance


def fail(journal: Journal, instance: Instance, *, is_counted: bool = True) -> bool:
    return journal.fail_build(
        str(instance.host), instance.uuid, instance.attempt,
        fault=builders.a_fault(instance.uuid), retry=True, is_counted=is_counted,
    )  # fmt: skip


def test_a_command_survives_closing_the_file(journal: Journal, tmp_path: Path) -> None:
    """Another process reads the same instance and request spec."""
    instance, spec = a_build(image=builders.an_image(properties={"os_type": "linux"}))
    accept(journal, instance, spec)
    journal.close()
    again = Journal(tmp_path / "journal.sqlite")
    again.open()
    read_instance, read_spec = again.get_build(HOST, instance.uuid)
    again.close()
    assert read_instance.to_plain() == instance.to_plain()
    assert read_spec.to_plain() == spec.to_plain()


def test_an_entry_knows_what_the_instance_takes(journal: Journal) -> None:
    """Amounts, project, system and group are there without reading the objects."""
    group = builders.an_instance_group()
    image = builders.an_image(properties={"os_type": "linux"})
    flavor = builders.a_flavor(vcpus=3, memory_mb=700, root_gb=5, ephemeral_gb=2)
    instance, spec = a_build(image=image, flavor=flavor, instance_group=group)
    accept(journal, instance, spec)
    found = entry(journal, instance)
    assert found == Entry(
        host=HOST, instance_uuid=instance.uuid, attempt=1, state=State.BUILDING, is_claimed=False,
        is_dirty=False, is_silent=False, exit_code=None, vcpus=3, memory_mb=700, disk_gb=7,
        project_id="p1", os_type="linux", group_uuid=group.uuid, request_id=None,
        flavor_id=flavor.flavorid, image_pairs=("os_type=linux",),
    )  # fmt: skip


# Attempts as fences -------------------------------------------------------------------------------


def test_the_first_command_is_new(journal: Journal) -> None:
    """What was never seen is to be built."""
    assert accept(journal, *a_build()) is Acceptance.NEW


def test_the_same_command_again_is_repeated(journal: Journal) -> None:
    """It is built once."""
    command = a_build()
    accept(journal, *command)
    assert accept(journal, *command) is Acceptance.REPEATED


def test_a_command_that_failed_is_over(journal: Journal) -> None:
    """Nothing is left of it, and it is not built again."""
    instance, spec = a_build()
    accept(journal, instance, spec)
    fail(journal, instance)
    answer_all(journal)
    assert accept(journal, instance, spec) is Acceptance.OVER


def test_a_lower_attempt_is_ignored_on_every_host_of_the_agent(journal: Journal) -> None:
    """The second attempt went to another host; the first command comes late."""
    second, spec = a_build(OTHER_HOST, attempt=2)
    accept(journal, second, spec)
    first, spec = a_build(uuid=second.uuid, attempt=1)
    assert accept(journal, first, spec) is Acceptance.IGNORED


def test_a_higher_attempt_replaces_the_entry_and_its_reports(journal: Journal) -> None:
    """What the older attempt left on the host is to be removed first."""
    instance = running(journal)
    journal.end(HOST, instance.uuid, 1, exit_code=1)
    later, spec = a_build(uuid=instance.uuid, attempt=2)
    assert accept(journal, later, spec) is Acceptance.NEW
    found = entry(journal, later)
    assert found is not None
    assert (found.attempt, found.state, found.is_dirty) == (2, State.BUILDING, True)
    assert answer_all(journal) == []


def test_nothing_is_built_after_a_delete(journal: Journal) -> None:
    """A command overtaken by the delete does not come to life, however high its attempt."""
    instance, spec = a_build(attempt=7)
    journal.begin_delete(HOST, instance.uuid)
    journal.finish_delete(HOST, instance.uuid)
    assert accept(journal, instance, spec) is Acceptance.IGNORED


def test_a_forgotten_attempt_is_not_built_when_its_command_comes_late(journal: Journal) -> None:
    """Only a higher attempt is."""
    instance, spec = a_build(attempt=2)
    journal.begin_forget(HOST, instance.uuid, 2)
    journal.finish_delete(HOST, instance.uuid)
    assert accept(journal, instance, spec) is Acceptance.IGNORED
    third, spec = a_build(uuid=instance.uuid, attempt=3)
    assert accept(journal, third, spec) is Acceptance.NEW


def test_forgetting_leaves_a_later_attempt_alone(journal: Journal) -> None:
    """The command to forget came late."""
    instance = running(journal, attempt=2)
    assert not journal.begin_forget(HOST, instance.uuid, 1)
    found = entry(journal, instance)
    assert found is not None
    assert found.state is State.RUNNING


def test_a_delete_stays_one_when_told_to_forget(journal: Journal) -> None:
    """Its end is reported."""
    instance = running(journal)
    journal.begin_delete(HOST, instance.uuid)
    assert journal.begin_forget(HOST, instance.uuid, 1)
    journal.finish_delete(HOST, instance.uuid)
    assert answer_all(journal) == [Kind.INSTANCE_DELETED]


def test_a_silent_end_becomes_a_delete_when_that_is_ordered(journal: Journal) -> None:
    """The conductor that sent the delete waits for its report."""
    instance = running(journal)
    journal.begin_forget(HOST, instance.uuid, 1)
    journal.begin_delete(HOST, instance.uuid)
    journal.finish_delete(HOST, instance.uuid)
    assert answer_all(journal) == [Kind.INSTANCE_DELETED]


def test_old_fences_are_dropped_and_needed_ones_stay(journal: Journal, clock: Clock) -> None:
    """A living instance keeps its fence however old it is."""
    gone, alive = running(journal), running(journal)
    journal.begin_delete(HOST, gone.uuid)
    journal.finish_delete(HOST, gone.uuid)
    answer_all(journal)
    clock.seconds += FENCE_KEEP_SECONDS + 1
    assert journal.prune() == 1
    assert (journal.serial(gone.uuid), journal.serial(alive.uuid) > 0) == (0, True)


# Steps --------------------------------------------------------------------------------------------


def test_a_success_is_noted_and_reported_in_one_step(journal: Journal) -> None:
    """An agent that dies right after it has reported it, or will."""
    instance, spec = a_build()
    accept(journal, instance, spec)
    assert journal.finish_build(HOST, instance.uuid, 1, power_state="running")
    (report,) = journal.next_reports(5)
    assert (report.kind, report.attempt) == (Kind.BUILD_SUCCEEDED, 1)
    assert report.result == Result(power_state="running")


def test_a_guest_that_ended_already_is_reported_as_built_then_as_ended(journal: Journal) -> None:
    """The conductor learns both, in this order, with the exit code."""
    instance, spec = a_build()
    accept(journal, instance, spec)
    journal.finish_build(HOST, instance.uuid, 1, power_state="shutdown", exit_code=0)
    found = entry(journal, instance)
    assert found is not None
    assert (found.state, found.exit_code) == (State.ENDED, 0)
    assert answer_all(journal) == [Kind.BUILD_SUCCEEDED, Kind.INSTANCE_ENDED]


@pytest.mark.parametrize("overtake", ["delete", "forget", "later"])
def test_a_build_that_was_overtaken_reports_nothing(journal: Journal, overtake: str) -> None:
    """Its end is of no interest any more, good or bad."""
    instance, spec = a_build()
    accept(journal, instance, spec)
    if overtake == "delete":
        journal.begin_delete(HOST, instance.uuid)
    elif overtake == "forget":
        journal.begin_forget(HOST, instance.uuid, 1)
    else:
        accept(journal, *a_build(uuid=instance.uuid, attempt=2))
    assert not journal.claim(HOST, instance.uuid, 1)
    assert not journal.finish_build(HOST, instance.uuid, 1, power_state="running")
    assert not fail(journal, instance)
    assert answer_all(journal) == []


def test_a_failure_removes_the_entry_and_keeps_the_fault(journal: Journal) -> None:
    """The resources are free, the conductor gets the fault."""
    instance, spec = a_build()
    accept(journal, instance, spec)
    assert fail(journal, instance)
    (report,) = journal.next_reports(5)
    assert entry(journal, instance) is None
    assert report.kind is Kind.BUILD_FAILED
    assert report.result.retry is True


def test_failed_builds_are_counted_in_a_row(journal: Journal) -> None:
    """Those that say something about the host; a success resets it; other hosts count apart."""
    for is_counted in (True, True, False):
        instance, spec = a_build()
        accept(journal, instance, spec)
        fail(journal, instance, is_counted=is_counted)
    assert (journal.failed_builds(HOST), journal.failed_builds(OTHER_HOST)) == (2, 0)
    running(journal)
    assert journal.failed_builds(HOST) == 0


def test_an_end_is_noted_once(journal: Journal) -> None:
    """And only of what runs."""
    instance = running(journal)
    assert journal.end(HOST, instance.uuid, 1, exit_code=3)
    assert not journal.end(HOST, instance.uuid, 1, exit_code=4)
    (report,) = journal.next_reports(5)
    assert (report.kind, report.result) == (Kind.INSTANCE_ENDED, Result(exit_code=3))


def test_a_delete_of_what_is_not_here_is_reported_too(journal: Journal) -> None:
    """The conductor waits for it."""
    journal.begin_delete(HOST, "5e1f0f6a-0000-4000-8000-000000000001")
    journal.finish_delete(HOST, "5e1f0f6a-0000-4000-8000-000000000001")
    assert answer_all(journal) == [Kind.INSTANCE_DELETED]


def test_a_delete_drops_reports_that_are_not_needed(journal: Journal) -> None:
    """The conductor does not learn of a success after it ordered the delete."""
    instance, spec = a_build()
    accept(journal, instance, spec)
    journal.finish_build(HOST, instance.uuid, 1, power_state="running")
    journal.begin_delete(HOST, instance.uuid)
    assert journal.next_reports(5) == []


@pytest.mark.parametrize("has_ended", [False, True])
def test_what_was_built_is_reported_again_on_demand(journal: Journal, has_ended: bool) -> None:
    """For a conductor that asks for the same attempt twice; reports that wait are not doubled."""
    instance = running(journal)
    if has_ended:
        journal.end(HOST, instance.uuid, 1, exit_code=2)
        answer_all(journal)
    assert journal.report_again(HOST, instance.uuid, 1)
    assert journal.report_again(HOST, instance.uuid, 1)
    expected = [Kind.BUILD_SUCCEEDED, Kind.INSTANCE_ENDED] if has_ended else [Kind.BUILD_SUCCEEDED]
    assert answer_all(journal) == expected


def test_an_instance_can_be_taken_over(journal: Journal) -> None:
    """It takes its place and its fence; doing it over an entry changes nothing."""
    instance, spec = a_build(attempt=3)
    journal.adopt(instance, has_ended=True, exit_code=None, reports=[Kind.INSTANCE_ENDED])
    journal.adopt(instance, has_ended=False, exit_code=None, reports=[Kind.BUILD_SUCCEEDED])
    found = entry(journal, instance)
    assert found is not None
    assert (found.state, found.attempt, found.is_claimed) == (State.ENDED, 3, True)
    assert answer_all(journal) == [Kind.INSTANCE_ENDED]
    assert accept(journal, instance, spec) is Acceptance.REPEATED


# Reading ------------------------------------------------------------------------------------------


def test_reports_come_in_order_one_for_each_instance(journal: Journal) -> None:
    """The second report of an instance waits for the answer to the first."""
    first, second = running(journal), running(journal)
    for instance in (first, second):
        journal.report_again(HOST, instance.uuid, 1)
    journal.end(HOST, first.uuid, 1, exit_code=0)
    reports = journal.next_reports(5)
    assert [report.instance_uuid for report in reports] == [first.uuid, second.uuid]
    assert [report.kind for report in reports] == [Kind.BUILD_SUCCEEDED] * 2
    assert [r.instance_uuid for r in journal.next_reports(5, skip=[first.uuid])] == [second.uuid]


def test_builds_in_progress_are_those_whose_end_was_not_answered(journal: Journal) -> None:
    """Running or waiting to be told; an attempt that is over does not hide the current one."""
    building, spec = a_build()
    accept(journal, building, spec)
    told, spec = a_build()
    accept(journal, told, spec)
    fail(journal, told)
    accept(journal, *a_build(OTHER_HOST, uuid=told.uuid, attempt=2))
    running(journal)
    assert journal.unfinished_builds() == {building.uuid: 1, told.uuid: 2}


def test_instances_of_a_host_are_those_built_or_being_built(journal: Journal) -> None:
    """A driver is not given what is being deleted, nor what is elsewhere."""
    mine = running(journal)
    running(journal, OTHER_HOST)
    journal.begin_delete(HOST, running(journal).uuid)
    assert [instance.uuid for instance in journal.list_instances(HOST)] == [mine.uuid]


def test_the_serial_of_an_instance_grows_with_each_change(journal: Journal) -> None:
    """Also with the answer to a report; and no other instance's changes."""
    instance = running(journal)
    other = running(journal)
    others = journal.serial(other.uuid)
    seen = [journal.serial(instance.uuid)]
    journal.end(HOST, instance.uuid, 1, exit_code=0)
    seen.append(journal.serial(instance.uuid))
    answer_all(journal)
    seen.append(journal.serial(instance.uuid))
    journal.begin_delete(HOST, instance.uuid)
    seen.append(journal.serial(instance.uuid))
    assert seen == sorted(set(seen))
    assert journal.serial(other.uuid) == others


def test_serials_go_on_after_a_restart(journal: Journal, tmp_path: Path) -> None:
    """They never repeat."""
    before = journal.serial(running(journal).uuid)
    journal.close()
    again = Journal(tmp_path / "journal.sqlite")
    again.open()
    assert again.serial(running(again).uuid) > before
    again.close()


def test_a_snapshot_is_the_journal_at_one_moment(journal: Journal) -> None:
    """Entries, serials and who has unanswered reports."""
    quiet, talking = running(journal), running(journal)
    journal.report_again(HOST, talking.uuid, 1)
    snapshot = journal.snapshot()
    assert set(snapshot.entries) == {(HOST, quiet.uuid), (HOST, talking.uuid)}
    assert snapshot.unreported == {talking.uuid}
    assert snapshot.serials[quiet.uuid] == journal.serial(quiet.uuid)


# Opening ------------------------------------------------------------------------------------------


def test_a_file_that_is_not_a_database_stops_the_agent_with_the_way_out(tmp_path: Path) -> None:
    """The message names the file and says what to do."""
    path = tmp_path / "journal.sqlite"
    path.write_bytes(b"not a database, but long enough to look like one" * 100)
    with pytest.raises(exception.JournalCorrupt, match=r"Move it away and restart") as caught:
        Journal(path).open()
    assert str(path) in str(caught.value)


def test_a_damaged_file_is_found_out(journal: Journal, tmp_path: Path) -> None:
    """Pages that were overwritten are noticed when it is opened."""
    for _ in range(50):
        running(journal)
    journal.close()
    path = tmp_path / "journal.sqlite"
    content = bytearray(path.read_bytes())
    content[4096 : len(content) - 4096] = b"\xff" * (len(content) - 8192)
    path.write_bytes(bytes(content))
    with pytest.raises(exception.JournalCorrupt):
        Journal(path).open()


def test_an_object_that_cannot_be_read_is_a_corrupt_journal(
    journal: Journal, tmp_path: Path
) -> None:
    """And is found when the driver is given its instances."""
    instance = running(journal)
    with sqlite3.connect(tmp_path / "journal.sqlite") as connection:
        connection.execute("UPDATE instances SET instance = '{}' WHERE uuid = ?", (instance.uuid,))
    with pytest.raises(exception.JournalCorrupt):
        journal.list_instances(HOST)


def test_a_newer_release_s_file_is_refused(tmp_path: Path) -> None:
    """It is not read wrong, and not changed."""
    path = tmp_path / "journal.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {len(STEPS) + 1}")
    with pytest.raises(exception.JournalCorrupt, match="newer release"):
        Journal(path).open()


def test_a_directory_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    """A file stands where the directory should be."""
    (tmp_path / "file").write_text("")
    with pytest.raises(exception.JournalCorrupt, match="file"):
        Journal(tmp_path / "file" / "journal.sqlite").open()


def test_a_full_disk_stops_the_agent_with_the_way_out(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not that it be moved away: what it holds is whole, and there when there is room again."""
    kept = running(journal)
    journal.close()
    usage = shutil.disk_usage(tmp_path)
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda _path: usage._replace(free=3 * 1024))
        with pytest.raises(exception.JournalDiskFull, match=r"has 3 KiB left.*Free some space"):
            Journal(tmp_path / "journal.sqlite").open()
    again = Journal(tmp_path / "journal.sqlite")
    again.open()
    assert entry(again, kept) is not None
    again.close()


def test_a_disk_that_fills_up_is_said_once_and_when_it_is_over(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    """All that is to be recorded meanwhile is refused; what was recorded can be read."""
    kept = running(journal)
    caplog.set_level(logging.INFO, "compute_agent")
    assert journal._connection is not None
    (pages,) = journal._connection.execute("PRAGMA page_count").fetchone()
    journal._connection.execute(f"PRAGMA max_page_count = {pages}")
    for _ in range(5):
        with pytest.raises(exception.JournalUnwritable, match="disk is full"):
            journal.accept_builds([a_build() for _ in range(100)])
        with journal.transaction():  # writes nothing
            pass
    assert entry(journal, kept) is not None
    journal._connection.execute("PRAGMA max_page_count = 100000")
    assert accept(journal, *a_build()) is Acceptance.NEW
    said = [(each.levelname, each.exc_info) for each in caplog.records]
    assert said == [("WARNING", None), ("INFO", None)]
    assert "disk is full" in caplog.messages[0]
    assert "available again" in caplog.messages[1]


def test_a_second_agent_on_the_same_file_is_refused(journal: Journal, tmp_path: Path) -> None:
    """It is told to use another state directory; when the first is gone it may."""
    second = Journal(tmp_path / "journal.sqlite")
    with pytest.raises(exception.ConfigurationError, match="another agent"):
        second.open()
    journal.close()
    second.open()
    second.close()


def test_a_closed_journal_takes_nothing(journal: Journal) -> None:
    """What still works after the stop fails, and goes on at the next start."""
    journal.close()
    with pytest.raises(exception.Unavailable):
        accept(journal, *a_build())


def test_only_the_agent_s_user_may_read_it(journal: Journal, tmp_path: Path) -> None:
    """It holds users' data."""
    modes = {path.name: path.stat().st_mode & 0o077 for path in tmp_path.iterdir()}
    assert len(modes) > 2
    assert set(modes.values()) == {0}
