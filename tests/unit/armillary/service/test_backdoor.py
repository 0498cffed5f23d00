"""The backdoor of the eventlet backend: one port for each worker."""

from __future__ import annotations

import pytest
from oslo_config import cfg
from oslo_service._options import eventlet_backdoor_opts

from armillary import concurrency
from armillary.service import backdoor


@pytest.mark.parametrize(
    ("asked", "workers", "port"),
    [
        ("4599", 3, "4599:4601"),
        ("4599", 1, "4599"),
        ("0", 3, "0"),
        ("4599:4700", 3, "4599:4700"),
        (None, 3, None),
    ],
)
def test_workers_do_not_contend_for_one_port(
    asked: str | None, workers: int, port: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one could not start; a range, or any free port, is left as it is."""
    monkeypatch.setattr(concurrency, "backend", lambda: concurrency.EVENTLET)
    conf = cfg.ConfigOpts()
    conf.register_opts(eventlet_backdoor_opts)
    conf.set_override("backdoor_port", asked)
    backdoor.widen(conf, workers)
    assert conf.backdoor_port == port
