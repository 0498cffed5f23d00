"""Remains of an interrupted live migration, on libvirt's test driver."""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from compute_agent.virt.libvirt.moves import arrivals
from tests import builders
from tests.fixtures.libvirt.libvirt_hosts import libvirt_library

pytestmark = pytest.mark.libvirt

URI = "test:///default"
UUID = builders.a_uuid()
DOMAIN = f"""
<domain type='test'>
  <name>{UUID}</name><uuid>{UUID}</uuid><memory>1024</memory><os><type>hvm</type></os>
</domain>
"""


@pytest.fixture
def guest() -> Iterator[Any]:
    """A guest that is paused, as one that is to arrive."""
    library = libvirt_library()
    opened = library.open(URI)
    domain = opened.createXML(DOMAIN, 0)
    domain.suspend()
    yield domain
    with contextlib.suppress(library.libvirtError):  # it is gone
        domain.destroy()
    opened.close()


def has_ended(sleep: Callable[[float], object]) -> bool:
    ticks = itertools.count()

    def pause(seconds: float) -> None:
        sleep(seconds)

    return arrivals.has_ended(libvirt_library(), URI, UUID, pause, lambda: next(ticks))


def test_it_may_be_gone_already() -> None:
    """The other daemon was faster."""
    assert has_ended(lambda _seconds: pytest.fail("there is nothing to wait for"))


def test_its_end_is_waited_for(guest: Any) -> None:
    """Then the guest can be sent again."""
    assert has_ended(lambda _seconds: guest.destroy())


def test_one_that_stays_is_given_up(guest: Any) -> None:
    """Someone else may have made it."""
    assert not has_ended(lambda _seconds: None)


def test_one_that_runs_is_left_alone(guest: Any) -> None:
    """It has arrived, whatever the source was told."""
    guest.resume()
    assert not has_ended(lambda _seconds: pytest.fail("it does not end"))
