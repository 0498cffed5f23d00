"""Locks by name: exclusive for a name, independent between names, gone when unused."""

import threading

from compute_agent.work.named_locks import NamedLocks

SECONDS_MAX = 60.0


def test_a_name_is_held_by_one_at_a_time() -> None:
    """The second waits until the first lets go; who holds another name does not."""
    locks = NamedLocks()
    got = threading.Event()

    def want() -> None:
        with locks.hold("a"):
            got.set()

    thread = threading.Thread(target=want)
    with locks.hold("a"):
        thread.start()
        with locks.hold("b"):
            assert not got.wait(0.05)
    assert got.wait(SECONDS_MAX)
    thread.join(SECONDS_MAX)


def test_nothing_is_kept_of_a_name() -> None:
    """Any number of groups may come and go."""
    locks = NamedLocks()
    with locks.hold("a"):
        pass
    assert locks._locks == {}
