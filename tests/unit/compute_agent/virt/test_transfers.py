"""Transfers of images that break off, that a service puts off, and that hardly move."""

from collections.abc import Iterator

import pytest
import requests
from oslo_config import cfg

from armillary import exception
from armillary.conf import image, register
from compute_agent.virt.transfers import Transfer
from tests.fixtures.cell import Clock

SECONDS = 300


class Waiting:
    """A clock that a transfer's pauses move on."""

    def __init__(self, **options: int) -> None:
        self.conf = cfg.ConfigOpts()
        self.conf([], default_config_files=[], default_config_dirs=[])
        register(self.conf, image)
        for name, value in options.items():
            self.conf.set_override(name, value, group="image")
        self.clock = Clock()
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock.advance(seconds)

    def transfer(self) -> Transfer:
        return Transfer("image", self.conf, sleep=self.sleep, clock=self.clock)


def test_what_breaks_off_goes_on_where_it_ended() -> None:
    """Whatever came is kept."""

    def pieces(start: int) -> Iterator[bytes]:
        yield b"abcdef"[start : start + 2]
        if start < 4:
            raise requests.ConnectionError

    assert b"".join(Waiting().transfer().resumed(pieces)) == b"abcdef"


def refused(seconds: float | None) -> exception.Unavailable:
    return exception.Unavailable(reason="status 503", retry_after_seconds=seconds)


def test_a_service_is_asked_again_when_it_says() -> None:
    waiting, answers = Waiting(), [refused(40.0), refused(50.0)]

    def pieces(_start: int) -> Iterator[bytes]:
        if answers:
            raise answers.pop(0)
        yield b"x"

    assert b"".join(waiting.transfer().resumed(pieces)) == b"x"
    assert waiting.slept == [40.0, 50.0]


@pytest.mark.parametrize("seconds", [SECONDS + 1.0, None], ids=["too late", "never"])
def test_what_is_of_no_use_is_not_tried_again(seconds: float | None) -> None:
    """The build goes to the next host immediately."""
    waiting = Waiting()

    def pieces(_start: int) -> Iterator[bytes]:
        raise refused(seconds)
        yield b""

    with pytest.raises(exception.Unavailable, match="image service: status 503"):
        list(waiting.transfer().resumed(pieces))
    assert waiting.slept == []


def test_a_service_that_drips_is_given_up() -> None:
    """After one window of time, although data always comes."""
    waiting = Waiting()

    def pieces(_start: int) -> Iterator[bytes]:
        while True:
            waiting.clock.advance(1)
            yield b"x"

    with pytest.raises(exception.Unavailable, match="it sent 300 bytes in 300 s"):
        list(waiting.transfer().resumed(pieces))


@pytest.mark.parametrize("per_second", [64 * 1024, 10, 0])
def test_a_slow_service_is_not_given_up(per_second: int) -> None:
    """As long as it is fast enough in each window."""
    waiting = Waiting(transfer_bytes_per_second_min=per_second)

    def pieces(_start: int) -> Iterator[bytes]:
        for _ in range(5 * SECONDS):
            waiting.clock.advance(1)
            yield bytes(per_second or 1)

    got = sum(map(len, waiting.transfer().resumed(pieces)))
    assert got == 5 * SECONDS * (per_second or 1)
