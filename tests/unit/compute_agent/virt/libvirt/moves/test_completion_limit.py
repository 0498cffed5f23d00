"""Time limit of live migrations."""

from pathlib import Path

import pytest

from compute_agent.virt.libvirt.moves.completion_limit import CompletionLimit
from tests.fixtures.libvirt.libvirt_hosts import host_conf

GIB = 1024**3


@pytest.mark.parametrize(
    ("per_gib", "gib", "seconds"),
    [(800, 4, 3200), (800, 0.1, 1600), (0, 4, None)],
    ids=["large", "small", "none"],
)
def test_a_limit_grows_with_what_is_sent(
    tmp_path: Path, per_gib: int, gib: float, seconds: float | None
) -> None:
    conf = host_conf("a", tmp_path, live_migration_completion_timeout=per_gib)
    assert CompletionLimit.of(conf, int(gib * GIB)).seconds == seconds


def test_a_limit_is_over_by_libvirt_s_clock() -> None:
    """Which goes on while the agent is down."""
    limit = CompletionLimit(10, "abort")
    jobs = [{"time_elapsed": 10_000}, {"time_elapsed": 10_001}, {}]
    assert [limit.is_over(job) for job in jobs] == [False, True, False]
    assert not CompletionLimit(None, "abort").is_over({"time_elapsed": 10**9})
