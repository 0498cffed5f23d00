"""The backend is chosen before anything else; pools are bounded and work on both."""

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from pathlib import Path

import pytest

from armillary import concurrency
from armillary.concurrency import WorkerPool, WorkerPoolFull
from tests.fixtures.programs.python_programs import StartProgram

pytestmark = pytest.mark.sampled_tests(every=3)

BOOTSTRAP = """
import sys
from armillary import concurrency
print(concurrency.bootstrap(sys.argv[1:], binary="armillary-test"))
import threading
from oslo_service.backend import get_backend_type
is_patched = threading.current_thread.__module__.startswith("eventlet")
print(concurrency.backend(), concurrency.rpc_executor(), get_backend_type().value, is_patched)
"""

# With two workers, two sleeping calls are done in the time of one, whatever the backend.
POOL = """
import sys, time
from armillary import concurrency
concurrency.bootstrap(sys.argv)
import threading
meet = threading.Barrier(2)
pool = concurrency.WorkerPool(2, "test", queue_size_max=1)
futures = [pool.submit(meet.wait, 20) for _ in range(2)]
print(sorted(future.result(20) for future in futures))
started, go_on = threading.Event(), threading.Event()
def block():
    started.set()
    return go_on.wait(20)
blocked = pool.submit(block)
started.wait(20)
print(pool.shutdown(0.05))
go_on.set()
print(blocked.result(20))
"""

# A green thread holds a row and yields; another one, which waits for the row, must not stop it.
TWO_GREEN_WRITERS = """
import sys
from armillary import concurrency
concurrency.bootstrap(sys.argv)
import threading, time
from sqlalchemy import text
from armillary.db import Database
database = Database(sys.argv[1], name="test")
with database.writer() as session:
    session.execute(text("CREATE TABLE row (id INT)"))
    session.execute(text("INSERT INTO row VALUES (1)"))
waits = threading.Event()
def hold():
    with database.writer() as session:
        session.execute(text("UPDATE row SET id = 2"))
        other.start()
        waits.wait(20)
        time.sleep(0.1)
def want():
    with database.writer() as session:
        waits.set()
        session.execute(text("UPDATE row SET id = 3"))
holder, other = threading.Thread(target=hold), threading.Thread(target=want)
holder.start()
holder.join()
other.join()
print("both done")
"""


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    pool = WorkerPool(1, "test", queue_size_max=2)
    yield pool
    pool.shutdown(0)


@pytest.fixture
def release(pool: WorkerPool) -> Iterator[threading.Event]:
    """Keep the pool's only worker busy until the event is set."""
    started, event = threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        event.wait(20)

    pool.submit(work)
    assert started.wait(20)
    yield event
    event.set()


@pytest.mark.parametrize("backend", ["threading", "eventlet"])
def test_the_file_of_the_command_line_chooses(
    backend: str, tmp_path: Path, start_program: StartProgram
) -> None:
    """One option, read before oslo.config is there, decides for threads, RPC and launcher."""
    path = tmp_path / "a.conf"
    path.write_text(f"[database]\nx=1\n[DEFAULT]\n# comment\nconcurrency_backend = {backend}\n")
    program = start_program(BOOTSTRAP, "--config-file", str(path))
    assert program.wait_for_end() == 0
    patched = backend == "eventlet"
    assert program.lines == [backend, f"{backend} {backend} {backend} {patched}"]


def test_the_usual_place_counts_without_a_command_line(
    tmp_path: Path, start_program: StartProgram
) -> None:
    """~/.config/armillary/<binary>.conf is looked at, too."""
    (tmp_path / "armillary").mkdir()
    (tmp_path / "armillary" / "armillary-test.conf").write_text(
        "concurrency_backend=x\n[DEFAULT]\nconcurrency_backend=eventlet\n"
    )
    program = start_program(BOOTSTRAP, XDG_CONFIG_HOME=str(tmp_path))
    assert program.wait_for_end() == 0
    assert program.lines[0] == "eventlet"


def test_the_environment_wins(tmp_path: Path, start_program: StartProgram) -> None:
    """A test run on the other backend needs no other files."""
    path = tmp_path / "a.conf"
    path.write_text("[DEFAULT]\nconcurrency_backend = eventlet\n")
    program = start_program(
        BOOTSTRAP, f"--config-file={path}", ARMILLARY_CONCURRENCY_BACKEND="threading"
    )
    assert program.wait_for_end() == 0
    assert program.lines[0] == "threading"


def test_an_unknown_backend_in_the_environment_ends_with_one_line(
    start_program: StartProgram,
) -> None:
    """The line names the variable and what is allowed."""
    program = start_program(BOOTSTRAP, ARMILLARY_CONCURRENCY_BACKEND="gevent")
    assert program.wait_for_end() == 1
    assert program.lines == [
        "ARMILLARY_CONCURRENCY_BACKEND=gevent is not allowed; allowed: threading, eventlet"
    ]


def test_without_bootstrap_it_is_threading() -> None:
    """Tests and libraries need no ceremony."""
    assert (concurrency.backend(), concurrency.is_bootstrapped()) == ("threading", False)


@pytest.mark.parametrize("backend", ["threading", "eventlet"])
def test_a_pool_works_on_both_backends(backend: str, start_program: StartProgram) -> None:
    """Calls run side by side, and shutdown tells that one is not done."""
    program = start_program(POOL, ARMILLARY_CONCURRENCY_BACKEND=backend)
    assert program.wait_for_end() == 0, program.output
    assert program.lines == ["[0, 1]", "False", "True"]


@pytest.mark.postgresql
@pytest.mark.parametrize("backend", ["threading", "eventlet"])
def test_waiting_for_postgresql_lets_others_run(
    backend: str, postgresql_url: str, start_program: StartProgram
) -> None:
    """psycopg2 would else block all green threads, and with them the one that is waited for."""
    program = start_program(
        TWO_GREEN_WRITERS, postgresql_url, ARMILLARY_CONCURRENCY_BACKEND=backend
    )
    assert program.wait_for_end() == 0, program.output
    assert program.lines == ["both done"]


def test_a_result_comes_back(pool: WorkerPool) -> None:
    """Arguments go in, the value comes out of the future."""
    assert pool.submit(divmod, 7, 2).result(20) == (3, 1)


def test_an_error_comes_back_and_the_worker_lives_on(pool: WorkerPool) -> None:
    """A failing call is its caller's matter."""
    with pytest.raises(ZeroDivisionError):
        pool.submit(divmod, 7, 0).result(20)
    assert pool.submit(divmod, 7, 2).result(20) == (3, 1)


def test_a_full_queue_refuses(pool: WorkerPool, release: threading.Event) -> None:
    """One runs and two wait; the fourth is the caller's to keep."""
    for _ in range(2):
        pool.submit(int)
    with pytest.raises(WorkerPoolFull, match="Pool test is full: 3 calls"):
        pool.submit(int)


def test_a_place_is_free_when_the_result_is_there(pool: WorkerPool) -> None:
    """A caller that waited for a result may submit immediately, however full the pool was."""
    for _ in range(200):
        futures: list[Future[int]] = [pool.submit(int) for _ in range(3)]
        for future in futures:
            future.result(20)


def test_shutdown_waits_for_what_was_taken(pool: WorkerPool, release: threading.Event) -> None:
    """Nothing that was accepted is dropped while there is time."""
    waiting = pool.submit(int)
    threading.Timer(0.05, release.set).start()
    assert pool.shutdown(20)
    assert waiting.result(0) == 0


def test_shutdown_cancels_what_has_not_begun(pool: WorkerPool, release: threading.Event) -> None:
    """After the time given, what waits is cancelled, and the answer says so."""
    waiting = pool.submit(int)
    assert not pool.shutdown(0.01)
    with pytest.raises(CancelledError):
        waiting.result(20)


def test_nothing_is_taken_after_shutdown(pool: WorkerPool) -> None:
    """A late submit is an error, not a call that never runs."""
    pool.shutdown(1)
    with pytest.raises(RuntimeError, match="was shut down"):
        pool.submit(int)


def test_a_pool_needs_bounds() -> None:
    """Zero workers or an unbounded queue are mistakes."""
    with pytest.raises(ValueError, match="at least 1"):
        WorkerPool(0, "test")
