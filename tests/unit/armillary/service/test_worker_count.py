"""Number of worker processes: the service's own option, the common one, or the CPUs."""

import os

import pytest
from oslo_config import cfg

from armillary.conf import base, register
from armillary.service.worker_count import worker_count


@pytest.mark.parametrize(
    ("own", "common", "count"),
    [(None, None, 6), (0, 0, 6), (3, None, 3), (3, 2, 3), (None, 2, 2), (0, 2, 2)],
)
def test_the_closest_option_counts(
    own: int | None, common: int | None, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0 is as good as unset; without any there is one for each CPU that the process may use."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(6)))
    conf = cfg.ConfigOpts()
    register(conf, base)
    conf.set_override("workers", common)
    assert worker_count(conf, own) == count
