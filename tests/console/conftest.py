"""One browser and one deployment for all tests of the console."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.console.browser import Tab, chromium
from tests.console.deployment import DOWN_SECONDS, REPORT_SECONDS, Deployment, deployment, token_of
from tests.fixtures import waiting
from tests.fixtures.deployment import LIMITS_FACTOR_MAX


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with chromium() as lent:
        yield lent


@pytest.fixture(scope="session")
def site(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A running deployment; it is not started where there is no browser to look at it."""
    factor = min(waiting.machine_factor(), LIMITS_FACTOR_MAX)
    with deployment(
        tmp_path_factory.mktemp("console"),
        report_seconds=round(REPORT_SECONDS * factor),
        down_seconds=round(DOWN_SECONDS * factor),
    ) as lent:
        yield lent


@pytest.fixture(scope="session")
def contexts(browser: Any) -> Iterator[dict[str, Any]]:
    """Browser contexts by user: a login and an empty cache cost seconds."""
    lent: dict[str, Any] = {}
    yield lent
    for context in lent.values():
        context.close()


@pytest.fixture
def open_tab(
    browser: Any, site: Deployment, contexts: dict[str, Any]
) -> Iterator[Callable[..., Tab]]:
    """Open tabs: ``open_tab("alice")`` is logged in. No page may fail or ask another address."""
    tabs: list[Tab] = []

    def tab_of(user: str | None, *, is_own_session: bool = False) -> Tab:
        known = None if is_own_session or user is None else contexts.get(user)
        tab = Tab(browser, site.url, known)
        tabs.append(tab)
        if user is not None and known is None:
            tab.log_in(token_of(user))
            if not is_own_session:
                contexts[user] = tab.lend()
        return tab

    yield tab_of
    faults = [fault for tab in tabs for fault in tab.faults]
    for tab in tabs:
        tab.close()
    assert faults == []


@pytest.fixture
def tab(open_tab: Callable[..., Tab]) -> Tab:
    """A tab in which an administrator is logged in."""
    return open_tab("root")


@pytest.fixture(scope="session")
def placed(site: Deployment) -> str:
    """A server that runs."""
    server = site.create("placed")
    site.wait_for_status(server, "ACTIVE")
    return server


@pytest.fixture(scope="session")
def pools(site: Deployment) -> None:
    """Two pools of storage, of which one has SSDs, and one of addresses."""
    site.add_pool("array1", "storage", {"DISK_GB": 1000}, traits=["STORAGE_DISK_SSD"])
    site.add_pool("array2", "storage", {"DISK_GB": 4000})
    site.add_pool("net1", "network", {"IPV4_ADDRESS": 250, "NET_BW_EGR_KILOBIT_PER_SEC": 10**7})


@pytest.fixture(scope="session")
def held(site: Deployment, pools: None) -> str:
    """A claim that has its pool."""
    return site.claim("data", kind="storage", resources={"DISK_GB": 500})


@pytest.fixture(scope="session")
def refused(site: Deployment) -> str:
    """A server for which no host was found."""
    server = site.create("refused", flavor=site.greedy_flavor)
    site.wait_for_status(server, "ERROR")
    return server
