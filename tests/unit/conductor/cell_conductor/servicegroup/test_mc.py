"""Heartbeats in a real memcached."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from oslo_config import cfg
from pymemcache.exceptions import MemcacheError

from armillary import exception
from conductor.cell_conductor import servicegroup
from conductor.cell_conductor.servicegroup import ServiceGroupDriver
from conductor.cell_conductor.servicegroup.mc import MemcachedDriver
from tests.fixtures.cell import a_conf
from tests.fixtures.services.memcached import Memcached, running_memcached
from tests.fixtures.services.ports import free_port

Load = Callable[[], ServiceGroupDriver]

HOSTS = [f"host {number} of rack ü" for number in range(500)]


@pytest.fixture(scope="module")
def pair() -> Iterator[list[Memcached]]:
    with running_memcached(free_port()) as one, running_memcached(free_port()) as other:
        yield [one, other]


@pytest.fixture
def load(conf: cfg.ConfigOpts) -> Iterator[Load]:
    with ExitStack() as made:

        def load() -> ServiceGroupDriver:
            driver = servicegroup.load(conf)
            made.callback(driver.stop)
            return driver

        yield load


@pytest.fixture
def conf(pair: list[Memcached]) -> cfg.ConfigOpts:
    conf = a_conf()
    conf.set_override("servicegroup_driver", "mc")
    conf.set_override("memcache_servers", [each.server for each in pair], group="servicegroup")
    for each in pair:
        each.flush()
    return conf


def test_what_is_recorded_is_read_from_any_conductor(load: Load) -> None:
    """The last time of each host, with names of any form; nothing of those that are unknown."""
    here, there = load(), load()
    assert isinstance(here, MemcachedDriver)
    here.record(HOSTS, 1000)
    here.record(HOSTS[:1], 1010)
    assert there.last_seen([*HOSTS, "unknown"]) == {
        **dict.fromkeys(HOSTS, 1000), HOSTS[0]: 1010
    }  # fmt: skip


def test_cells_share_a_memcached(conf: cfg.ConfigOpts, load: Load) -> None:
    """Hosts of one name in two cells are two hosts."""
    load().record(["a"], 1000)
    conf.set_override("uuid", "11111111-2222-3333-4444-555555555555", group="cell")
    assert load().last_seen(["a"]) == {}


def test_a_server_that_was_killed_is_used_again_when_it_is_back(
    load: Load, pair: list[Memcached]
) -> None:
    """Meanwhile an error says so; afterwards no connection of before is in the way."""
    driver = load()
    driver.record(HOSTS, 1000)
    pair[0].kill()
    with pytest.raises((OSError, MemcacheError)):
        driver.record(HOSTS, 1010)
    pair[0].start()
    driver.record(HOSTS, 1020)
    assert set(driver.last_seen(HOSTS).values()) == {1020}


def test_a_driver_without_servers_is_refused(conf: cfg.ConfigOpts) -> None:
    """At the start, with the option's name."""
    conf.set_override("memcache_servers", [], group="servicegroup")
    with pytest.raises(
        exception.ConfigurationError, match=r"needs \[servicegroup\] memcache_servers"
    ):
        servicegroup.load(conf)


def test_an_unknown_driver_is_refused() -> None:
    """The error names those that there are."""
    conf = a_conf()
    conf.set_override("servicegroup_driver", "zk")
    with pytest.raises(exception.PluginNotFound, match="db, mc"):
        servicegroup.load(conf)
