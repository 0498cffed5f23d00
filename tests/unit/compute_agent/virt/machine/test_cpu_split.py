"""Which CPUs are shared and which dedicated, and what is refused."""

from pathlib import Path

import pytest

from armillary import exception
from compute_agent.virt.machine.cpu_split import CpuSplit
from tests.fixtures.agent import agent_conf

AVAILABLE = frozenset(range(8))


def split(state_path: Path, shared: str | None, dedicated: str | None) -> CpuSplit:
    conf = agent_conf(state_path)
    conf.set_override("cpu_shared_set", shared, group="compute")
    conf.set_override("cpu_dedicated_set", dedicated, group="compute")
    return CpuSplit.of(conf, AVAILABLE)


@pytest.mark.parametrize(
    ("shared", "dedicated", "expected"),
    [
        (None, None, (set(range(8)), set(), False)),
        ("0-3,^2", None, ({0, 1, 3}, set(), True)),
        (None, "4-7", (set(), {4, 5, 6, 7}, True)),
        ("0-1", "4-7", ({0, 1}, {4, 5, 6, 7}, True)),
    ],
    ids=["neither", "shared", "dedicated", "both"],
)
def test_the_sets_divide_the_cpus(
    tmp_path: Path, shared: str | None, dedicated: str | None, expected: tuple[object, ...]
) -> None:
    """What neither names belongs to the host itself; dedicated ones alone leave none to share."""
    found = split(tmp_path, shared, dedicated)
    assert (found.shared, found.dedicated, found.is_configured) == expected


@pytest.mark.parametrize(
    ("shared", "dedicated", "why"),
    [
        ("0-3", "3-5", "overlap in CPUs 3"),
        ("0-9", None, "cpu_shared_set contains CPUs 8-9, but the agent may only use 0-7"),
        (None, "a-b", "cpu_dedicated_set is 'a-b'"),
        (None, "1,^1", "contains no CPUs"),
    ],
)
def test_a_mistake_stops_the_agent(
    tmp_path: Path, shared: str | None, dedicated: str | None, why: str
) -> None:
    """One sentence that names the option."""
    with pytest.raises(exception.ConfigurationError, match=r"\[compute\] cpu_") as caught:
        split(tmp_path, shared, dedicated)
    assert why in str(caught.value)
