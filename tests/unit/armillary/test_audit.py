"""The audit log as a file: who can read it, how it is rotated, and what may be in a line."""

import json
import os
import resource
import signal
import stat
import threading
from pathlib import Path
from typing import Any

import prometheus_client
import pytest

from armillary.audit import SUCCESS, AuditTrail, Event, Initiator
from tests.fixtures.checks.audit_log import events_of


def trail(path: Path) -> AuditTrail:
    return AuditTrail(path, observer="tests", characters_max=64)


def event(action: str = "create", **more: Any) -> Event:
    who = Initiator(kind="user", id="alice")
    return Event(action=action, outcome=SUCCESS, initiator=who, target_kind="thing", **more)


def lost() -> float:
    return prometheus_client.REGISTRY.get_sample_value("armillary_audit_lost_total") or 0.0


def test_only_its_owner_reads_the_log(tmp_path: Path) -> None:
    """Whatever the umask, and also if it was there before."""
    path = tmp_path / "audit.log"
    path.touch()
    path.chmod(0o644)
    trail(path).record(event())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_log_that_was_moved_is_opened_again(tmp_path: Path) -> None:
    """As logrotate does it; the next event is in the new file, which is private, too."""
    path, old = tmp_path / "audit.log", tmp_path / "audit.log.1"
    found = trail(path)
    found.record(event("one"))
    path.rename(old)
    found.record(event("two"))
    assert [each["action"] for each in events_of(old)] == ["one"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each["action"] for each in events_of(path)] == ["two"]


def test_what_is_not_known_is_left_out(tmp_path: Path) -> None:
    """What remains has CADF's names."""
    path = tmp_path / "audit.log"
    trail(path).record(event())
    (found,) = events_of(path)
    assert found.pop("id")
    assert found.pop("eventTime").endswith("+00:00")
    assert found == {
        "typeURI": "http://schemas.dmtf.org/cloud/audit/1.0/event",
        "eventType": "activity",
        "action": "create",
        "outcome": "success",
        "initiator": {"typeURI": "user", "id": "alice"},
        "target": {"typeURI": "thing"},
        "observer": {"typeURI": "service", "id": "tests"},
    }


@pytest.mark.parametrize("odd", ["\n{}", "\x00", "\x7f\x1b[2J", "\x85\u2028", "\udc80", "\u202e"])
def test_no_value_begins_a_line_or_reaches_a_terminal(tmp_path: Path, odd: str) -> None:
    """What a peer sends stays within its line, as printable ASCII, and is read as it was."""
    path = tmp_path / "audit.log"
    trail(path).record(event(path=odd, fields=[odd]))
    raw = path.read_bytes()
    assert raw.count(b"\n") == 1
    assert all(32 <= byte < 127 for byte in raw.rstrip(b"\n"))
    (found,) = events_of(path)
    assert (found["requestPath"], found["fields"]) == (odd, [odd])


def test_values_and_their_number_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    trail(path).record(event("x" * 10_000, fields=["y" * 10_000] * 10_000))
    assert path.stat().st_size < 10_000
    (found,) = events_of(path)
    assert found["action"] == "x" * 64 + " (and 9936 more)"


def test_processes_share_a_log(tmp_path: Path) -> None:
    """Lines of writers that know nothing of each other are whole."""
    path = tmp_path / "audit.log"
    writers = [trail(path) for _ in range(4)]

    def write(writer: AuditTrail) -> None:
        for _ in range(50):
            writer.record(event("z" * 64))

    threads = [threading.Thread(target=write, args=[writer]) for writer in writers]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(events_of(path)) == 200


def test_a_log_that_cannot_be_written_fails_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged once, and each event is counted; then the log goes on."""
    path = tmp_path / "missing" / "audit.log"
    found, before = trail(path), lost()
    for _ in range(3):
        found.record(event())
    assert lost() - before == 3
    assert len([each for each in caplog.records if "The audit log" in each.getMessage()]) == 1
    path.parent.mkdir()
    found.record(event())
    assert len(events_of(path)) == 1


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/null")])
def test_only_a_regular_file_is_written(tmp_path: Path, make) -> None:
    """A pipe without a reader would block requests, and a link leads to another's file."""
    path, before = tmp_path / "audit.log", lost()
    make(path)
    trail(path).record(event())
    assert lost() - before == 1


def test_a_full_disk_spoils_one_line_alone(tmp_path: Path) -> None:
    """The next event begins a line of its own."""
    path, before = tmp_path / "audit.log", lost()
    found = trail(path)
    found.record(event("first"))
    free, unlimited = path.stat().st_size + 20, resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (free, unlimited[1]))
    try:
        found.record(event("torn"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        signal.signal(signal.SIGXFSZ, ignored)
    found.record(event("last"))
    assert lost() - before == 1
    first, torn, last = path.read_text().splitlines()
    assert (json.loads(first)["action"], len(torn)) == ("first", 20)
    assert json.loads(last)["action"] == "last"


def test_without_a_file_it_is_off() -> None:
    silent = AuditTrail(None, observer="tests", characters_max=64)
    silent.record(event())
    assert not silent.is_on
