"""The fake scheduler's answer is known beforehand."""

from scheduler.drivers.fake_scheduler import FakeScheduler
from tests.fleets import OTHER_CELL, a_host, a_request_spec
from tests.unit.scheduler.drivers.drivers import a_driver_of, rows, select


def test_hosts_come_in_the_order_of_their_names_and_from_the_first_again() -> None:
    """Whatever order the cells name them in; alternates are the first others of the cell."""
    hosts = [a_host("c"), a_host("a"), a_host("b", service_up=False), a_host("d", cell=OTHER_CELL)]
    driver = a_driver_of(FakeScheduler, hosts)
    expected = [["a", "c"], ["c", "a"], ["d"], ["a", "c"]]
    assert rows(select(driver, count=4)) == expected
    assert rows(select(driver, count=4)) == expected


def test_the_request_s_own_hosts_count() -> None:
    """As for every driver."""
    driver = a_driver_of(FakeScheduler, [a_host("a"), a_host("b"), a_host("c")])
    assert rows(select(driver, a_request_spec(ignore_hosts=["a"]), 2)) == [["b", "c"], ["c", "b"]]
