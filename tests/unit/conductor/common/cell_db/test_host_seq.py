"""The sequence: numbers that become visible in order, also to concurrent writers."""

import threading
from datetime import timedelta
from typing import Any

from armillary.db import Database
from conductor.common.cell_db import compute_nodes, host_seq
from tests.builders import A_TIME

THREADS = 4
ROUNDS = 15


def node(host: str) -> dict[str, Any]:
    return {
        "uuid": f"uuid-{host}", "host": host, "node": host, "attributes": {}, "inventories": {},
        "traits": [], "sent_traits": {}, "seq": 0, "provider_digest": "", "allocation_ratios": {},
        "created_at": A_TIME,
    }  # fmt: skip


def add(database: Database, *hosts: str) -> None:
    database.run_in_writer(compute_nodes.add, [node(host) for host in hosts])


def current(database: Database) -> int:
    return database.read(host_seq.current)


def test_touched_hosts_share_the_next_number(database: Database) -> None:
    """Others keep theirs; hosts that are null or unknown are fine."""
    add(database, "a", "b", "c")
    database.run_in_writer(host_seq.touch_hosts, ["a", None, "b", "a", "nowhere"])
    rows = database.read(compute_nodes.list_on_hosts, ["a", "b", "c"])
    assert {row.host: row.seq for row in rows} == {"a": 1, "b": 1, "c": 0}


def test_touching_no_host_takes_no_number(database: Database) -> None:
    """Nothing changed."""
    database.run_in_writer(host_seq.touch_hosts, [None])
    assert current(database) == 0


def test_a_transaction_that_fails_takes_no_number(database: Database) -> None:
    """The next one has it: there is no hole that a reader would wait for."""

    def fail(session: Any) -> None:
        host_seq.next_number(session)
        raise KeyError

    for _ in range(2):
        try:
            database.run_in_writer(fail)
        except KeyError:
            assert current(database) == 0


def test_who_sees_a_number_sees_every_change_up_to_it(database: Database) -> None:
    """Writers together; a reader that follows by number misses none of their changes."""
    hosts = [f"h{number}" for number in range(THREADS)]
    add(database, *hosts)
    stop = threading.Event()
    seen: dict[str, int] = {}
    errors: list[BaseException] = []

    def write(host: str) -> None:
        try:
            for _ in range(ROUNDS):
                database.run_in_writer(host_seq.touch_hosts, [host])
        except BaseException as error:  # shown by the test
            errors.append(error)

    def follow() -> None:
        at = 0
        while True:
            is_last = stop.is_set()
            with database.reader() as session:
                upto = host_seq.current(session)
                for row in compute_nodes.list_changed(session, after_seq=at, up_to_seq=upto):
                    seen[row.host] = row.seq
            at = upto
            if is_last:
                return

    writers = [threading.Thread(target=write, args=(host,)) for host in hosts]
    follower = threading.Thread(target=follow)
    for thread in (*writers, follower):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    follower.join()
    assert errors == []
    assert current(database) == THREADS * ROUNDS
    rows = database.read(compute_nodes.list_on_hosts, hosts)
    assert seen == {row.host: row.seq for row in rows}


def test_removals_are_forgotten_when_they_are_old(database: Database) -> None:
    """And it is remembered from where on they are complete."""
    add(database, "a", "b")
    remove = compute_nodes.remove_of_host
    database.run_in_writer(remove, "a", now=A_TIME)
    database.run_in_writer(remove, "b", now=A_TIME + timedelta(days=1))
    limit = A_TIME + timedelta(hours=1)
    counts = [database.run_in_writer(host_seq.purge_removals, before=limit) for _ in range(2)]
    assert counts == [1, 0]
    with database.reader() as session:
        assert host_seq.removals_from(session) == 1
        assert compute_nodes.list_removed(session, after_seq=0, up_to_seq=9) == ["uuid-b"]
