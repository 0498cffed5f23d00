"""Never above capacity, nothing lost: eight processes write together, on three databases."""

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait

from armillary.db import Database
from tests.fixtures.placement import SCHEMA, engines
from tests.fixtures.placement.placement_examiner import Examiner
from tests.fixtures.placement.placement_rows import true_consumers, true_providers
from tests.fixtures.plugins.sampling import TAKES_ALL
from tests.integration.placement.placement_hammer import (
    FIRM_HOSTS,
    SECONDS_MAX,
    SHARED_CONSUMERS,
    SLOTS,
    SOFT_HOSTS,
    WANDERER,
    Account,
    hammer,
    prepare,
)
from tests.integration.placement.placement_processes import fork_server

WORKERS = 8
OPERATIONS = 120 if TAKES_ALL else 60  # of each


@contextmanager
def processes(url: str) -> Iterator[list[Account]]:
    """Let the processes work, and lend what each was told."""
    context = fork_server()
    barrier = context.Barrier(WORKERS)
    pipes = [context.Pipe(duplex=False) for _ in range(WORKERS)]
    seed = random.randrange(2**32)
    running = [
        context.Process(target=hammer, args=(url, number, OPERATIONS, barrier, sender, seed))
        for number, (_, sender) in enumerate(pipes)
    ]
    try:
        for process in running:
            process.start()
        yield answers_of([receiver for receiver, _ in pipes], seed)
    finally:
        for process in running:
            process.kill()
            process.join()


def answers_of(pipes: list[Connection], seed: int) -> list[Account]:
    """Return what each process was told; the first that went wrong ends it all."""
    accounts: list[Account] = []
    deadline = time.monotonic() + SECONDS_MAX
    while pipes:
        ready = wait(pipes, deadline - time.monotonic())
        assert ready, f"seed {seed}: {len(pipes)} processes did not come to an end in time"
        for pipe in ready:
            assert isinstance(pipe, Connection)
            answer = pipe.recv()
            assert isinstance(answer, Account), f"seed {seed}: {answer}"
            accounts.append(answer)
            pipes.remove(pipe)
    return accounts


def test_what_processes_write_together_stands_as_each_was_told(any_database_url: str) -> None:
    """Recounted from the rows; an engine that begins now and those in use answer the same."""
    database = Database(any_database_url, name="placement")
    database.sync(SCHEMA)
    with engines(any_database_url) as make:
        prepare(make(), WORKERS)
        in_use = make()
        with processes(any_database_url) as accounts:
            examiner = Examiner(database)
            examiner.check_rows()
            for engine in (in_use, make()):
                examiner.examine(engine)
            check_capacity(database)
            check_allocations(database, accounts)
            check_steps(accounts)
            accepted = sum((account.accepted for account in accounts), Counter())
            refused = sum((account.refused for account in accounts), Counter())
            assert len(accepted) == len({*accepted, *refused}), "something was always refused"
    database.dispose()


def check_capacity(database: Database) -> None:
    """No host gave away more than it ever had."""
    truth = true_providers(database)
    for uuid in FIRM_HOSTS + SOFT_HOSTS:
        assert truth[uuid].used["VCPU"] <= SLOTS


def check_allocations(database: Database, accounts: list[Account]) -> None:
    """Every consumer holds what its process was told last, and there are no others."""
    expected = {
        consumer: allocations
        for account in accounts
        for consumer, allocations in account.held.items()
        if allocations
    }
    steps = [step for account in accounts for step in account.consumer_steps]
    for consumer in SHARED_CONSUMERS:
        own = {generation or 0: wanted for uuid, generation, wanted in steps if uuid == consumer}
        if own:  # else all writes to it were refused
            expected[consumer] = own[max(own)]
    found = {uuid: item.allocations for uuid, item in true_consumers(database).items()}
    del found[WANDERER]
    assert found == expected
    truth = true_providers(database)
    for account in accounts:
        for uuid, is_there in account.made.items():
            assert (uuid in truth) == is_there


def check_steps(accounts: list[Account]) -> None:
    """Of two that wrote on one generation, one was refused."""
    given = Counter[tuple[str, int | None]]()
    for account in accounts:
        given.update((uuid, generation) for uuid, generation, _ in account.consumer_steps)
        given.update(account.provider_steps)
    assert set(given.values()) == {1}
