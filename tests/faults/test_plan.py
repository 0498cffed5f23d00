"""A short plan of faults over a mix of all operations; `make faults` plays longer ones."""

import pytest

from tests.faults.plan import Kind
from tests.faults.run import Run
from tests.faults.stores import why_missing
from tests.faults.world import SMALL, world
from tests.fixtures.plugins.sampling import TAKES_ALL
from tests.fixtures.services import leave_out

pytestmark = pytest.mark.sampled_file(every=2)

SEED = 1
FAULTS, OPERATIONS = (5, 40) if TAKES_ALL else (4, 24)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Lend a deployment on a broker and a database server of its own, which may be killed."""
    reason = why_missing()
    if reason is not None:
        leave_out("RabbitMQ or PostgreSQL", reason)
    with world(tmp_path_factory.mktemp("plan"), SMALL, SEED) as deployment:
        yield Run(deployment, lambda line: None)


def test_nothing_is_lost_and_nothing_is_left_whatever_fails(run):
    """Each accepted request ends with a reason, guests run once, placement holds what there is.

    BZ-67: also those that were under way when the broker was killed.
    """
    outcome = run.play(SEED, FAULTS, OPERATIONS)
    assert outcome.findings == []
    assert Kind.BROKER_KILL in outcome.faults
    assert (sum(outcome.faults.values()), sum(outcome.accepted.values()) >= OPERATIONS) == (
        FAULTS, True,
    )  # fmt: skip
    assert run.clear() == []
