"""Where agents sign, a host is its agent's until an operator says otherwise."""

import pytest

from armillary import exception
from armillary.context import Signer, admin_context
from armillary.service_history import CURRENT_VERSION
from conductor.common.cell_db import host_requests
from tests.fixtures.cell import Cell


def report(cell: Cell, agent: str, *hosts: str, enrolled_for: tuple[str, ...] = ()) -> None:
    """Report hosts in a message that the agent's key signed."""
    signer = Signer(f"key-of-{agent}", "compute", agent, enrolled_for)
    cell.services.report(agent, hosts, {}, version=CURRENT_VERSION, signer=signer)


def agents(cell: Cell) -> dict[str, str | None]:
    return {found.host: found.agent for found in cell.services.list_services(admin_context())}


def waiting(cell: Cell) -> list[tuple[str, str, str | None]]:
    found = cell.services.owners.list_host_requests(admin_context())
    return [(one.host, one.agent, one.present_agent) for one in found]


def test_an_agent_has_the_host_of_its_name_and_those_of_its_enrolment(cell: Cell) -> None:
    """What the root key vouched for needs no approval."""
    report(cell, "rack1", "rack1", "rack1-7", enrolled_for=("rack1-?",))
    assert agents(cell) == {"rack1": "rack1", "rack1-7": "rack1"}


def test_a_host_of_a_silent_agent_stays_its_own(cell: Cell) -> None:
    """A stolen key that waits until a host is down gets nothing, even if enrolled for all."""
    report(cell, "a", "a")
    cell.clock.advance(100_000)
    with pytest.raises(exception.HostsNotApproved, match=r"thief.*: a\."):
        report(cell, "thief", "thief", "a", enrolled_for=("*",))
    assert agents(cell) == {"a": "a"}
    assert waiting(cell) == [("a", "thief", "a")]
    report(cell, "a", "a")


def test_a_name_without_enrolment_is_refused_and_listed(cell: Cell) -> None:
    """Nothing of the report is stored, and asking again changes nothing."""
    for _ in range(2):
        with pytest.raises(exception.HostsNotApproved, match="approve-host"):
            report(cell, "a", "a", "made-up")
    assert agents(cell) == {}
    assert waiting(cell) == [("made-up", "a", None)]


def test_an_approved_host_is_accepted(cell: Cell) -> None:
    """From that agent alone; the request is off the list."""
    with pytest.raises(exception.HostsNotApproved):
        report(cell, "a", "new")
    cell.services.owners.approve_host(admin_context(), "new", "a")
    with pytest.raises(exception.HostsNotApproved):
        report(cell, "new", "new")
    report(cell, "a", "new")
    assert agents(cell) == {"new": "a"}
    assert waiting(cell) == []


def test_an_operator_hands_a_host_over(cell: Cell) -> None:
    """From then on the former agent is refused."""
    report(cell, "a", "a")
    cell.services.owners.approve_host(admin_context(), "a", "b")
    report(cell, "b", "a")
    with pytest.raises(exception.HostsNotApproved):
        report(cell, "a", "a")
    assert agents(cell) == {"a": "b"}


def test_a_released_host_goes_to_the_next_agent_that_may_have_it(cell: Cell) -> None:
    """Not to any; and it is that agent's then. Meanwhile its own agent keeps it going."""
    report(cell, "a", "a")
    cell.services.owners.release_host(admin_context(), "a")
    report(cell, "a", "a")
    with pytest.raises(exception.HostsNotApproved):
        report(cell, "thief", "a")
    report(cell, "b", "a", enrolled_for=("a",))
    with pytest.raises(exception.HostsNotApproved):
        report(cell, "a", "a")
    assert agents(cell) == {"a": "b"}


def test_an_unknown_host_cannot_be_released(cell: Cell) -> None:
    """A typing error is told."""
    with pytest.raises(exception.HostNotFound):
        cell.services.owners.release_host(admin_context(), "nowhere")


def test_requests_of_one_agent_are_bounded(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may make names up for ever; the list stays readable."""
    monkeypatch.setattr(host_requests, "WAITING_MAX", 3)
    for number in range(5):
        with pytest.raises(exception.HostsNotApproved):
            report(cell, "a", f"made-up-{number}")
    assert len(waiting(cell)) == 3


def test_unsigned_messages_are_served_as_before(cell: Cell) -> None:
    """Without signatures an agent that fell silent loses its host, and names are free."""
    cell.services.report("a", ["x"], {}, version=CURRENT_VERSION)
    cell.clock.advance(61)
    cell.services.report("b", ["x"], {}, version=CURRENT_VERSION)
    assert agents(cell) == {"x": "b"}
