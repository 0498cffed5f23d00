"""Memory of received messages: over a restart, among siblings, no longer than needed."""

import errno
import logging
import os
import shutil
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from armillary.logs.outage_log import OutageLog
from rpc.signing import nonces
from rpc.signing.nonces import NONCE_BYTES

WINDOW = 300.0
LOG = logging.getLogger(__name__)


def a_log(directory, window):
    return nonces.NonceLog(directory, window, OutageLog(LOG, "The memory of messages"))


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


def nonce(number):
    return number.to_bytes(NONCE_BYTES, "big")


def test_a_nonce_is_new_once(tmp_path):
    log = a_log(tmp_path, WINDOW)
    assert [log.is_new(nonce(number), 1000.0) for number in (1, 2, 1)] == [True, True, False]


def test_it_is_remembered_after_a_restart(tmp_path):
    a_log(tmp_path, WINDOW).is_new(nonce(1), 1000.0)
    log = a_log(tmp_path, WINDOW)
    assert not log.is_new(nonce(1), 1000.0)
    assert log.is_new(nonce(2), 1000.0)


def test_siblings_see_what_the_other_took(tmp_path):
    """Two processes on one queue of one machine, whichever was first."""
    one, two = a_log(tmp_path, WINDOW), a_log(tmp_path, WINDOW)
    for number in range(10):
        first, second = (one, two) if number % 2 else (two, one)
        assert first.is_new(nonce(number), 1000.0)
        assert not second.is_new(nonce(number), 1000.0)


def test_half_a_nonce_of_a_crash_does_no_harm(tmp_path):
    """What was appended before it still counts, and so does what comes after."""
    a_log(tmp_path, WINDOW).is_new(nonce(1), 1000.0)
    path = next(tmp_path.iterdir())
    with path.open("ab") as file:
        file.write(b"half")
    log = a_log(tmp_path, WINDOW)
    assert not log.is_new(nonce(1), 1000.0)
    assert log.is_new(nonce(2), 1000.0)
    restarted = a_log(tmp_path, WINDOW)
    assert not restarted.is_new(nonce(2), 1000.0)


def test_files_of_the_past_are_dropped(tmp_path):
    """Nothing that they remember could be accepted any more; open files neither pile up."""
    log = a_log(tmp_path, WINDOW)
    before = open_files()
    for hour in range(20):
        log.is_new(nonce(hour), hour * 3600.0)
    assert len(list(tmp_path.iterdir())) <= 4
    assert open_files() <= before + 4


def test_without_its_directory_it_remembers_in_memory(tmp_path, caplog):
    """A service whose state directory is lost, or was made a file, continues; one warning."""
    (tmp_path / "nonces").write_text("")
    log = a_log(tmp_path / "nonces", WINDOW)
    accepted = [log.is_new(nonce(number), 1000.0) for number in (1, 2, 1, 2, 3)]
    assert accepted == [True, True, False, False, True]
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_lost_directory_is_made_again_with_the_next_file(tmp_path, caplog):
    """Files are of one window each; the open one goes on, unseen."""
    directory = tmp_path / "state" / "nonces"
    log = a_log(directory, WINDOW)
    assert log.is_new(nonce(1), 1000.0)
    shutil.rmtree(tmp_path / "state")
    assert log.is_new(nonce(2), 1000.0 + 3 * WINDOW)
    assert not a_log(directory, WINDOW).is_new(nonce(2), 1000.0 + 3 * WINDOW)
    assert caplog.records == []


def test_a_full_disk_is_said_once(tmp_path, caplog, monkeypatch):
    """Messages arrive a hundred times a second, and the log is often on the same disk."""
    caplog.set_level(logging.INFO)
    log = a_log(tmp_path, WINDOW)

    def full(file, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        assert [log.is_new(nonce(number), 1000.0) for number in (1, 2, 1)] == [True, True, False]
    assert not log.is_new(nonce(2), 1000.0)
    assert log.is_new(nonce(3), 1000.0)
    first, last = (record.getMessage() for record in caplog.records)
    assert "is unavailable, retrying: No space left on device" in first
    assert "is available again" in last


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.booleans(), st.sampled_from([1000.0, 1250.0])), max_size=40
    )
)
def test_no_nonce_is_taken_twice(tmp_path_factory, steps):
    """Whichever process sees it, and however often these are restarted."""
    directory = tmp_path_factory.mktemp("nonces")
    logs = [a_log(directory, WINDOW), a_log(directory, WINDOW)]
    sent_at: dict[int, float] = {}
    for number, is_restarted, time in steps:
        if is_restarted:
            logs[number % 2] = a_log(directory, WINDOW)
        expected = number not in sent_at
        time = sent_at.setdefault(number, time)
        assert logs[number % 2].is_new(nonce(number), time) is expected
