"""Memory of received messages: over a restart, among siblings, no longer than needed."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rpc.signing.nonces import NONCE_BYTES, NonceLog

WINDOW = 300.0


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


def nonce(number):
    return number.to_bytes(NONCE_BYTES, "big")


def test_a_nonce_is_new_once(tmp_path):
    log = NonceLog(tmp_path, WINDOW)
    assert [log.is_new(nonce(number), 1000.0) for number in (1, 2, 1)] == [True, True, False]


def test_it_is_remembered_after_a_restart(tmp_path):
    NonceLog(tmp_path, WINDOW).is_new(nonce(1), 1000.0)
    log = NonceLog(tmp_path, WINDOW)
    assert not log.is_new(nonce(1), 1000.0)
    assert log.is_new(nonce(2), 1000.0)


def test_siblings_see_what_the_other_took(tmp_path):
    """Two processes on one queue of one machine, whichever was first."""
    one, two = NonceLog(tmp_path, WINDOW), NonceLog(tmp_path, WINDOW)
    for number in range(10):
        first, second = (one, two) if number % 2 else (two, one)
        assert first.is_new(nonce(number), 1000.0)
        assert not second.is_new(nonce(number), 1000.0)


def test_half_a_nonce_of_a_crash_does_no_harm(tmp_path):
    """What was appended before it still counts, and so does what comes after."""
    NonceLog(tmp_path, WINDOW).is_new(nonce(1), 1000.0)
    path = next(tmp_path.iterdir())
    with path.open("ab") as file:
        file.write(b"half")
    log = NonceLog(tmp_path, WINDOW)
    assert not log.is_new(nonce(1), 1000.0)
    assert log.is_new(nonce(2), 1000.0)
    restarted = NonceLog(tmp_path, WINDOW)
    assert not restarted.is_new(nonce(2), 1000.0)


def test_files_of_the_past_are_dropped(tmp_path):
    """Nothing that they remember could be accepted any more; open files neither pile up."""
    log = NonceLog(tmp_path, WINDOW)
    before = open_files()
    for hour in range(20):
        log.is_new(nonce(hour), hour * 3600.0)
    assert len(list(tmp_path.iterdir())) <= 4
    assert open_files() <= before + 4


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.booleans(), st.sampled_from([1000.0, 1250.0])), max_size=40
    )
)
def test_no_nonce_is_taken_twice(tmp_path_factory, steps):
    """Whichever process sees it, and however often these are restarted."""
    directory = tmp_path_factory.mktemp("nonces")
    logs = [NonceLog(directory, WINDOW), NonceLog(directory, WINDOW)]
    sent_at: dict[int, float] = {}
    for number, is_restarted, time in steps:
        if is_restarted:
            logs[number % 2] = NonceLog(directory, WINDOW)
        expected = number not in sent_at
        time = sent_at.setdefault(number, time)
        assert logs[number % 2].is_new(nonce(number), time) is expected
