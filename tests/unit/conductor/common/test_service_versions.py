"""Versions: a conductor's own report, and those of schedulers and placement."""

from typing import Any

import pytest
from oslo_config import cfg

from armillary import exception
from conductor.common.service_versions import ServiceVersions
from tests.fixtures.cell import a_conf
from tests.fixtures.made_up_releases import NEW, OLD

pytestmark = pytest.mark.usefixtures("two_releases")

AWAY = exception.RpcTimeout(method="get_oldest_services", topic="conductor", timeout_seconds=1)


class Asked:
    """Answers what the test says, or raises it."""

    def __init__(self) -> None:
        self.answer: Any = {"scheduler": NEW, "placement": NEW}
        self.count = 0

    def __call__(self, _context: Any) -> Any:
        self.count += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    return a_conf()


def test_no_service_is_asked_while_no_level_needs_it(conf: cfg.ConfigOpts) -> None:
    """It reports itself all the same."""
    asked, noted = Asked(), []
    versions = ServiceVersions(conf, record_own_heartbeat=lambda: noted.append(1), ask=asked)
    versions.report()
    assert (asked.count, noted) == (0, [1])


def test_the_cap_follows_what_is_heard(conf: cfg.ConfigOpts) -> None:
    """What cannot be asked now stays as it was."""
    conf.set_override("scheduler", "auto", group="upgrade_levels")
    asked = Asked()
    versions = ServiceVersions(conf, record_own_heartbeat=lambda: None, ask=asked)
    cap = versions.cap("scheduler")
    versions.report()
    assert cap.of(None) == "1.1"
    asked.answer = AWAY
    versions.refresh()
    assert cap.of(None) == "1.1"
    asked.answer = {"scheduler": OLD}
    versions.refresh()
    assert cap.of(None) == "1.0"
