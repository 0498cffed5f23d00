"""Reports of agents: what is accepted, what is stale, in every race that two of them can run."""

import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.cell_conductor.builds.reports import ACCEPTED, STALE
from conductor.common.cell_db import instances, models
from objects.instances.build_request import BuildRequest
from objects.instances.guest_addresses import GuestAddresses
from objects.instances.instance_command import BuiltReport
from objects.instances.instance_fault import UNASKED
from objects.instances.server_filters import ServerFilters
from objects.instances.server_settings import ServerSettings
from tests.fixtures.cell import Cell, a_build_request, node_uuid


@pytest.fixture
def building(cell: Cell) -> BuildRequest:
    """Return a request whose first attempt was cast to host a; b and c are its alternates."""
    for host in "abc":
        cell.add_agent(host)
    request = a_build_request("a", "b", "c")
    cell.hand_over(request)
    return request


def succeeded(cell: Cell, uuid: str, host: str = "a", attempt: int = 1, agent: str = "") -> str:
    (answer,) = cell.reports.builds_succeeded(
        admin_context(), agent or host, [BuiltReport(host, uuid, attempt, "running")]
    )
    return answer


def failed(
    cell: Cell, uuid: str, host: str = "a", attempt: int = 1, agent: str = "", retry: bool = True
) -> str:
    answer, leases = cell.reports.take_build_failure(
        agent or host, host, uuid, attempt, fault=cell.agents["a"].fault_for(uuid), retry=retry
    )
    cell.build.run(admin_context(), leases)
    return answer


def ended(cell: Cell, uuid: str, exit_code: int = 0, attempt: int = 1) -> str:
    return cell.reports.instance_ended(
        admin_context(), "a", "a", uuid, attempt, exit_code=exit_code
    )


def deleted(cell: Cell, uuid: str, host: str = "a", agent: str = "") -> str:
    answer, leases = cell.reports.take_guest_gone(agent or host, host, uuid)
    cell.delete.run(admin_context(), leases)
    return answer


# Addresses


def test_addresses_of_a_guest_are_stored_and_found(cell: Cell, building: BuildRequest) -> None:
    """Only by its host's agent, about its current attempt; the list of servers can ask for them."""
    uuid = building.instance_uuid
    succeeded(cell, uuid)
    cell.reports.report_addresses(
        admin_context(), "a", [GuestAddresses("a", uuid, 1, ["192.0.2.9", "2001:DB8::9"])]
    )
    for agent, host, attempt in (("b", "b", 1), ("a", "a", 2), ("b", "a", 1)):
        cell.reports.report_addresses(
            admin_context(), agent, [GuestAddresses(host, uuid, attempt, ["192.0.2.1"])]
        )
    assert cell.get(uuid).addresses == ["192.0.2.9", "2001:db8::9"]
    with cell.database.reader() as session:
        for filters, expected in (
            (ServerFilters(ip="192.0.2.9"), [uuid]),
            (ServerFilters(ip6="2001:db8"), [uuid]),
            (ServerFilters(ip="192.0.2.1"), []),
        ):
            listed = instances.list_page(session, filters=filters, limit=9, cell_uuid=None)
            assert [one.uuid for one in listed] == expected


@pytest.mark.parametrize("addresses", [["here"], ["192.0.2.1"] * 17], ids=["no address", "many"])
def test_what_is_not_an_address_is_refused(
    cell: Cell, building: BuildRequest, addresses: list[str]
) -> None:
    """So is a number of addresses that no guest has."""
    found = [GuestAddresses("a", building.instance_uuid, 1, addresses)]
    with pytest.raises(exception.Invalid):
        cell.reports.report_addresses(admin_context(), "a", found)


# build_succeeded


def test_success_makes_it_active(cell: Cell, building: BuildRequest) -> None:
    """Active, running, launched now, nothing being done."""
    assert succeeded(cell, building.instance_uuid) == ACCEPTED
    made = cell.get(building.instance_uuid)
    assert (made.vm_state, made.task_state, made.power_state) == ("active", None, "running")
    assert made.launched_at is not None
    assert made.launched_at.timestamp() == cell.clock()


def test_a_password_is_forgotten_once_the_guest_has_it(cell: Cell) -> None:
    """And kept until then, for the alternates; what else the guest was given stays."""
    for host in "ab":
        cell.add_agent(host)
    request = a_build_request("a", "b")
    request.instance.settings = ServerSettings.from_values(
        admin_password="pw", files={"/a": "eA=="}, config_drive=True
    )
    cell.hand_over(request)
    failed(cell, request.instance_uuid)
    settings = cell.get(request.instance_uuid).settings
    assert settings is not None
    assert settings.admin_password == "pw"
    assert succeeded(cell, request.instance_uuid, "b", attempt=2) == ACCEPTED
    settings = cell.get(request.instance_uuid).settings
    assert settings is not None
    assert (settings.admin_password, settings.files) == (None, {"/a": "eA=="})


def test_success_reported_twice_is_accepted_twice(cell: Cell, building: BuildRequest) -> None:
    """The first answer was lost; the guest must stay."""
    succeeded(cell, building.instance_uuid)
    assert succeeded(cell, building.instance_uuid) == ACCEPTED


def test_success_with_an_unknown_power_state_is_refused(cell: Cell, building: BuildRequest) -> None:
    """Nothing is stored of a report that makes no sense."""
    with pytest.raises(exception.Invalid, match="power_state"):
        cell.reports.builds_succeeded(
            admin_context(), "a", [BuiltReport("a", building.instance_uuid, 1, "on fire")]
        )


def test_success_of_a_host_given_up_as_down_is_stale_while_the_alternate_builds(
    cell: Cell, building: BuildRequest
) -> None:
    """It was down for the conductor, an alternate has it now: destroy."""
    cell.silence("a")
    cell.recovery.run()
    assert cell.get(building.instance_uuid).host == "b"
    assert succeeded(cell, building.instance_uuid) == STALE
    cell.settle()
    cell.check(building.instance_uuid, "active", "b")


def test_success_of_a_host_given_up_as_down_is_stale_after_all_failed(
    cell: Cell, building: BuildRequest
) -> None:
    """ERROR is final: its allocation is gone."""
    cell.failing.update({"b": True, "c": True})
    cell.silence("a")
    cell.recovery.run()
    cell.settle()
    assert succeeded(cell, building.instance_uuid) == STALE
    assert cell.get(building.instance_uuid).vm_state == "error"


def test_success_of_an_earlier_attempt_on_the_same_host_is_stale(cell: Cell) -> None:
    """It came back after another host had failed: its report of the first attempt is late."""
    for host in "ab":
        cell.add_agent(host)
    request = a_build_request("a", "b", "a")
    cell.hand_over(request)
    failed(cell, request.instance_uuid, "a", attempt=1)
    failed(cell, request.instance_uuid, "b", attempt=2)
    assert succeeded(cell, request.instance_uuid, "a", attempt=1) == STALE
    assert succeeded(cell, request.instance_uuid, "a", attempt=3) == ACCEPTED


def test_success_before_recovery_looked_wins_over_the_expired_lease(
    cell: Cell, building: BuildRequest
) -> None:
    """In either order of writes the build is over, there is nothing to recover."""
    cell.clock.advance(1000)
    assert succeeded(cell, building.instance_uuid) == ACCEPTED
    assert cell.recovery.run() == 0


def test_success_of_an_instance_being_deleted_is_stale_and_the_delete_goes_on(
    cell: Cell, building: BuildRequest
) -> None:
    """It is neither made active nor kept."""
    cell.ask_delete(building.instance_uuid)
    assert succeeded(cell, building.instance_uuid) == STALE
    assert cell.get(building.instance_uuid).task_state == "deleting"
    cell.settle()
    cell.check(building.instance_uuid, "deleted")


def test_success_of_a_deleted_instance_is_stale(cell: Cell, building: BuildRequest) -> None:
    """The guest that was built too late goes."""
    cell.ask_delete(building.instance_uuid)
    deleted(cell, building.instance_uuid)
    assert succeeded(cell, building.instance_uuid) == STALE


def test_success_of_an_unknown_instance_is_stale(cell: Cell, building: BuildRequest) -> None:
    """The cell has no request for it."""
    assert succeeded(cell, "00000000-0000-4000-8000-000000000000") == STALE


def test_success_told_by_another_agent_is_stale(cell: Cell, building: BuildRequest) -> None:
    """A host speaks for itself only."""
    assert succeeded(cell, building.instance_uuid, agent="b") == STALE
    assert cell.get(building.instance_uuid).vm_state == "building"


def test_success_on_another_host_of_the_same_agent_is_stale(cell: Cell) -> None:
    """An agent with many hosts may mix them up; the conductor does not."""
    cell.add_agent("rack", "a", "b")
    request = a_build_request("a", "b")
    cell.hand_over(request)
    assert succeeded(cell, request.instance_uuid, host="b", agent="rack") == STALE
    assert succeeded(cell, request.instance_uuid, host="a", agent="rack") == ACCEPTED


def test_success_of_an_alternate_that_was_not_claimed_yet_is_stale(
    cell: Cell, building: BuildRequest
) -> None:
    """It was never cast: whatever runs there has no allocation."""
    cell.top_bus.fail("claim_batch", exception.Unavailable(reason="it restarts"))
    failed(cell, building.instance_uuid)
    assert succeeded(cell, building.instance_uuid, host="b", attempt=2) == STALE


# build_failed


def test_failure_goes_on_to_the_alternate(cell: Cell, building: BuildRequest) -> None:
    """Attempt 2 is on the next host."""
    assert failed(cell, building.instance_uuid) == ACCEPTED
    made = cell.get(building.instance_uuid)
    assert (made.host, made.node, made.attempt, made.vm_state) == ("b", "b", 2, "building")


def test_failure_reported_twice_is_accepted_twice_and_counts_once(
    cell: Cell, building: BuildRequest
) -> None:
    """The second one finds the fault of its attempt."""
    failed(cell, building.instance_uuid)
    assert failed(cell, building.instance_uuid) == ACCEPTED
    assert cell.get(building.instance_uuid).attempt == 2


def test_failure_reported_again_after_the_end_is_accepted(
    cell: Cell, building: BuildRequest
) -> None:
    """The instance is in ERROR and on no host; the agent's outbox must drain."""
    failed(cell, building.instance_uuid, retry=False)
    assert failed(cell, building.instance_uuid, retry=False) == ACCEPTED


def test_failure_of_a_host_given_up_as_down_changes_nothing(
    cell: Cell, building: BuildRequest
) -> None:
    """The conductor said so before: the same outcome, known already."""
    cell.silence("a")
    cell.recovery.run()
    assert failed(cell, building.instance_uuid) == ACCEPTED
    made = cell.get(building.instance_uuid)
    assert (made.host, made.attempt) == ("b", 2)


def test_failure_of_an_instance_being_deleted_is_stale(cell: Cell, building: BuildRequest) -> None:
    """No alternate is tried for what is going."""
    cell.ask_delete(building.instance_uuid)
    assert failed(cell, building.instance_uuid) == STALE
    assert cell.placement.claims == []


def test_failure_after_success_is_stale(cell: Cell, building: BuildRequest) -> None:
    """One outcome an attempt: the first that was told."""
    succeeded(cell, building.instance_uuid)
    assert failed(cell, building.instance_uuid) == STALE
    assert cell.get(building.instance_uuid).vm_state == "active"


def test_failure_told_by_another_agent_is_stale(cell: Cell, building: BuildRequest) -> None:
    """Also the second time, when there is a fault to be found."""
    assert failed(cell, building.instance_uuid, agent="b") == STALE
    failed(cell, building.instance_uuid)
    assert failed(cell, building.instance_uuid, agent="b") == STALE


def test_a_reported_fault_is_that_of_its_attempt_whatever_it_says(
    cell: Cell, building: BuildRequest
) -> None:
    """An agent chooses message and details, not whose fault it is."""
    fault = cell.agents["a"].fault_for(node_uuid("x"))
    fault = fault.with_values(host="elsewhere", attempt=7, message="x" * 1000)
    cell.reports.take_build_failure("a", "a", building.instance_uuid, 1, fault=fault, retry=True)
    [stored] = cell.rows(models.InstanceFault)
    assert (stored.instance_uuid, stored.host, stored.attempt) == (building.instance_uuid, "a", 1)
    assert len(stored.message) == 255


# instance_ended


def test_the_end_of_a_workload_stops_the_instance(cell: Cell, building: BuildRequest) -> None:
    """Stopped, shut down, with its exit code; reported twice it is accepted twice."""
    succeeded(cell, building.instance_uuid)
    assert ended(cell, building.instance_uuid, 3) == ACCEPTED
    assert ended(cell, building.instance_uuid, 3) == ACCEPTED
    made = cell.get(building.instance_uuid)
    assert (made.vm_state, made.power_state, made.exit_code) == ("stopped", "shutdown", 3)


def test_a_workload_that_runs_makes_a_stopped_instance_active(
    cell: Cell, building: BuildRequest
) -> None:
    """Not during an operation, and not another attempt."""
    uuid = building.instance_uuid
    succeeded(cell, uuid)
    ended(cell, uuid, 3)
    assert told_power(cell, uuid, "running", attempt=2) == STALE
    assert cell.get(uuid).vm_state == "stopped"
    for _ in range(2):
        assert told_power(cell, uuid, "running") == ACCEPTED
    made = cell.get(uuid)
    assert (made.vm_state, made.power_state, made.exit_code) == ("active", "running", None)


def told_power(
    cell: Cell, uuid: str, power_state: str, reason: str | None = None, *, attempt: int = 1
) -> str:
    return cell.reports.power_changed(
        admin_context(), "a", "a", uuid, attempt, power_state=power_state, reason=reason
    )


def test_a_guest_that_stands_still_is_paused_and_says_why(
    cell: Cell, building: BuildRequest
) -> None:
    """A second time, too, in one fault; once it goes on, the server is active."""
    uuid = building.instance_uuid
    succeeded(cell, uuid)
    for _ in range(2):
        assert told_power(cell, uuid, "paused", "its disk is full") == ACCEPTED
        made = cell.get(uuid)
        assert (made.vm_state, made.power_state) == ("paused", "paused")
        told_power(cell, uuid, "running")
        assert cell.get(uuid).vm_state == "active"
    faults = [(each.code, each.message) for each in cell.rows(models.InstanceFault)]
    assert faults == [(UNASKED, "Its disk is full.")]


def test_a_guest_that_crashed_is_off_and_says_so(cell: Cell, building: BuildRequest) -> None:
    """Its power state is that of a crash."""
    uuid = building.instance_uuid
    succeeded(cell, uuid)
    cell.reports.instance_ended(
        admin_context(), "a", "a", uuid, 1, exit_code=None, reason="it crashed"
    )
    made = cell.get(uuid)
    assert (made.vm_state, made.power_state) == ("stopped", "crashed")
    assert [each.message for each in cell.rows(models.InstanceFault)] == ["It crashed."]


def test_an_instance_in_error_shows_whether_its_guest_runs(
    cell: Cell, building: BuildRequest
) -> None:
    """It stays in error: what failed is not done by that."""
    uuid = building.instance_uuid
    succeeded(cell, uuid)
    with cell.database.writer() as session:
        row = instances.lock(session, uuid)
        assert row is not None
        row.vm_state, row.power_state = "error", None
    assert told_power(cell, uuid, "running") == ACCEPTED
    made = cell.get(uuid)
    assert (made.vm_state, made.power_state) == ("error", "running")


def begin_operation(cell: Cell, uuid: str) -> None:
    with cell.database.writer() as session:
        row = instances.lock(session, uuid)
        assert row is not None
        row.task_state = "rebooting"


def test_a_pause_during_an_operation_is_left_to_it(cell: Cell, building: BuildRequest) -> None:
    """An unknown power state is refused."""
    succeeded(cell, building.instance_uuid)
    begin_operation(cell, building.instance_uuid)
    assert told_power(cell, building.instance_uuid, "paused") == ACCEPTED
    assert cell.get(building.instance_uuid).vm_state == "active"
    with pytest.raises(exception.Invalid):
        told_power(cell, building.instance_uuid, "asleep")


def test_an_end_that_overtakes_the_success_counts_as_both(
    cell: Cell, building: BuildRequest
) -> None:
    """It was built, or it could not have ended; the success that follows changes nothing."""
    assert ended(cell, building.instance_uuid, 0) == ACCEPTED
    assert succeeded(cell, building.instance_uuid) == ACCEPTED
    assert cell.get(building.instance_uuid).vm_state == "stopped"
    assert cell.rows(models.InstanceBuild) == []


def test_the_end_of_an_instance_being_deleted_is_stale(cell: Cell, building: BuildRequest) -> None:
    """The delete goes on as it was."""
    succeeded(cell, building.instance_uuid)
    cell.ask_delete(building.instance_uuid)
    assert ended(cell, building.instance_uuid) == STALE
    assert cell.get(building.instance_uuid).task_state == "deleting"


def test_the_end_of_another_attempt_is_stale(cell: Cell, building: BuildRequest) -> None:
    """It is of a guest that is no longer expected."""
    succeeded(cell, building.instance_uuid)
    assert ended(cell, building.instance_uuid, attempt=2) == STALE


def test_the_end_of_a_build_that_failed_is_stale(cell: Cell, building: BuildRequest) -> None:
    """The next host has it."""
    failed(cell, building.instance_uuid)
    assert ended(cell, building.instance_uuid) == STALE


# instance_deleted


def test_a_guest_gone_without_a_delete_is_stale(cell: Cell, building: BuildRequest) -> None:
    """It was not being deleted: nothing is freed."""
    succeeded(cell, building.instance_uuid)
    assert deleted(cell, building.instance_uuid) == STALE
    assert cell.placement.held[building.instance_uuid] == {node_uuid("a")}


def test_a_guest_gone_is_accepted_twice(cell: Cell, building: BuildRequest) -> None:
    """While the rest is freed, and when all is gone."""
    succeeded(cell, building.instance_uuid)
    cell.ask_delete(building.instance_uuid)
    cell.top_bus.fail("release", exception.Unavailable(reason="it restarts"))
    answers = [deleted(cell, building.instance_uuid) for _ in range(2)]
    cell.settle()
    answers.append(deleted(cell, building.instance_uuid))
    assert answers == [ACCEPTED] * 3


def test_a_guest_gone_twice_does_not_disturb_who_frees_the_rest(
    cell: Cell, building: BuildRequest
) -> None:
    """The first report's work continues under its lease; the second has none."""
    cell.ask_delete(building.instance_uuid)
    _answer, leases = cell.reports.take_guest_gone("a", "a", building.instance_uuid)
    _answer, more = cell.reports.take_guest_gone("a", "a", building.instance_uuid)
    assert (len(leases), more) == (1, [])


def test_a_guest_gone_from_a_former_host_is_stale(cell: Cell, building: BuildRequest) -> None:
    """Only the present host's word ends the delete."""
    failed(cell, building.instance_uuid)
    cell.ask_delete(building.instance_uuid)
    assert deleted(cell, building.instance_uuid, host="a") == STALE
    assert cell.get(building.instance_uuid).task_state == "deleting"


def test_a_guest_gone_told_by_another_agent_is_stale(cell: Cell, building: BuildRequest) -> None:
    """A host speaks for itself only."""
    cell.ask_delete(building.instance_uuid)
    assert deleted(cell, building.instance_uuid, agent="b") == STALE


def test_a_guest_gone_that_was_unknown_is_accepted(cell: Cell, building: BuildRequest) -> None:
    """What is unknown, or purged, is gone."""
    assert deleted(cell, "00000000-0000-4000-8000-000000000000") == ACCEPTED


def test_a_guest_gone_after_a_local_delete_is_accepted(cell: Cell, building: BuildRequest) -> None:
    """The agent was thought dead, and got the command all the same."""
    cell.ask_delete(building.instance_uuid)
    cell.silence("a")
    cell.recovery.run()
    assert cell.row(building.instance_uuid).vm_state == "deleted"
    assert deleted(cell, building.instance_uuid) == ACCEPTED


# list_host_instances


def test_an_agent_is_told_what_should_be_on_its_hosts(cell: Cell, building: BuildRequest) -> None:
    """Also what is being built or deleted there; not what has moved on."""
    other = a_build_request("a", "b")
    cell.hand_over(other)
    failed(cell, other.instance_uuid)
    listed = cell.reports.list_host_instances(admin_context(), "a", ["a", "never-heard-of"])
    assert [(i.uuid, i.attempt) for i in listed] == [(building.instance_uuid, 1)]


def test_an_agent_is_not_told_about_another_one_s_hosts(cell: Cell, building: BuildRequest) -> None:
    """It would take an empty list for the truth and destroy what runs there."""
    with pytest.raises(exception.Conflict, match="belongs to agent b"):
        cell.reports.list_host_instances(admin_context(), "a", ["a", "b"])
