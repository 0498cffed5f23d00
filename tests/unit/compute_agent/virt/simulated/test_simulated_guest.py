"""Records of simulated guests, which have a bound."""

from compute_agent.virt.simulated.simulated_guest import EVENTS_MAX, SimulatedGuest, console_lines
from tests.builders import A_TIME


def test_the_oldest_events_are_dropped() -> None:
    """However often it is started."""
    guest = SimulatedGuest("u")
    for _ in range(3 * EVENTS_MAX):
        guest = guest.booted(A_TIME)
    assert len(guest.events) == EVENTS_MAX


def test_a_guest_that_is_off_is_not_turned_off_again() -> None:
    """Its console says it once."""
    guest = SimulatedGuest("u").off(A_TIME)
    assert guest.off(A_TIME) is guest


def test_a_console_reads_in_order() -> None:
    """Each line of a boot after the one before, in seconds since it began."""
    guest = SimulatedGuest("u", vcpus=2, memory_mb=512, disk_gb=1).booted(A_TIME).off(A_TIME)
    first, *steps, last = console_lines("host1", guest)
    assert first == "2030-01-31T12:00:00Z booting simulated guest u"
    assert last == "2030-01-31T12:00:00Z shutting down; power off"
    seconds = [float(step[1:13]) for step in steps]
    assert seconds == sorted(seconds)
