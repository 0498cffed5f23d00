"""``armillary-manage placement heal-allocations``: healed servers, and those left alone."""

from typing import Any

import pytest

from objects.allocations.fence import FENCE_FINAL, Fence, FenceStep
from programs.operator.placement import heal_allocations
from tests import builders
from tests.fixtures.placement import placement_template, placement_url
from tests.fixtures.placement.placement_repair import (
    AWAY,
    HELD,
    Cloud,
    RunPlacement,
    cloud,
    run_placement,
)

__all__ = ["cloud", "placement_template", "placement_url", "run_placement"]


def test_a_server_without_allocations_gets_those_of_its_flavor(
    cloud: Cloud, run_placement: RunPlacement
) -> None:
    """On the node where it is, for its owner; the second time there is nothing to do."""
    server = cloud.add_server(project_id="p7", user_id="u7")
    code, out, _ = run_placement("heal-allocations")
    amounts = "DISK_GB=1, MEMORY_MB=512, VCPU=1"
    assert (code, out.splitlines()) == (
        0,
        [f"{server.uuid} on cell1-host1: {amounts}: healed", "1 server checked: 1 healed"],
    )
    assert cloud.held(server.uuid) == {server.uuid: {cloud.nodes[0]: {"resources": HELD}}}
    (item,) = cloud.engine.allocations.list(marker=None, limit=10)
    assert (item.project_id, item.user_id, item.consumer_type) == ("p7", "u7", "INSTANCE")
    assert run_placement("heal-allocations")[0] == 4


def test_the_servers_of_a_cell_are_healed(cloud: Cloud, run_placement: RunPlacement) -> None:
    """No others; a cell without hosts is named, and not with a server."""
    server = cloud.add_server(cell_uuid=cloud.cell.uuid)
    of_another = cloud.add_server(cell_uuid=builders.a_uuid())
    code, out, _ = run_placement("heal-allocations", f"--cell={cloud.cell.uuid}")
    assert (code, out.splitlines()[-1]) == (0, "1 server checked: 1 healed")
    assert cloud.held(server.uuid)
    assert not cloud.held(of_another.uuid).get(of_another.uuid)
    assert run_placement("heal-allocations", f"--cell={builders.a_uuid()}")[0] == 127
    both = (f"--cell={cloud.cell.uuid}", f"--instance={server.uuid}")
    assert run_placement("heal-allocations", *both)[0] == 127


def test_a_server_that_was_moved_is_healed_like_any_other(
    cloud: Cloud, run_placement: RunPlacement
) -> None:
    """Its last operation wrote under a high fence; the next one's is above the healing."""
    server = cloud.add_server(operations_total=3)
    last = int(Fence.of_operation(3).at(FenceStep.GIVE_BACK))
    cloud.hold(server.uuid, fence=last)
    cloud.engine.claims.release({server.uuid: last})
    assert run_placement("heal-allocations")[0] == 0
    assert cloud.held(server.uuid) == {server.uuid: {cloud.nodes[0]: {"resources": HELD}}}
    following = int(Fence.of_operation(4))
    cloud.hold(server.uuid, resources={"VCPU": 2}, fence=following, replace=True)
    late = cloud.add_server(operations_total=2)
    cloud.hold(late.uuid, resources={"VCPU": 1}, fence=last)
    assert run_placement("heal-allocations", f"--instance={late.uuid}")[0] == 4


def test_what_is_missing_is_added_to_what_is_held(
    cloud: Cloud, run_placement: RunPlacement
) -> None:
    """Also what is held of other providers counts, such as shared disk."""
    storage = builders.a_uuid()
    cloud.add_provider(storage, "storage", DISK_GB=100)
    server = cloud.add_server()
    held = {
        cloud.nodes[0]: {"resources": {"MEMORY_MB": 256}},
        storage: {"resources": {"DISK_GB": 1}},
    }
    cloud.engine.claims.claim([builders.a_claim("", consumer_uuid=server.uuid, allocations=held)])
    assert run_placement("heal-allocations")[0] == 0
    assert cloud.held(server.uuid)[server.uuid] == {
        cloud.nodes[0]: {"resources": {"MEMORY_MB": 512, "VCPU": 1}},
        storage: {"resources": {"DISK_GB": 1}},
    }


def test_more_than_the_flavor_says_is_left(cloud: Cloud, run_placement: RunPlacement) -> None:
    """Nothing is taken from a server."""
    server = cloud.add_server()
    resources = {"VCPU": 4, "MEMORY_MB": 512, "DISK_GB": 1}
    cloud.hold(server.uuid, resources=resources)
    assert run_placement("heal-allocations")[0] == 4
    assert cloud.held(server.uuid)[server.uuid][cloud.nodes[0]]["resources"] == resources


PINNED = builders.a_flavor(extra_specs={"hw:cpu_policy": "dedicated"})


@pytest.mark.parametrize("kind", ["VCPU", "PCPU"])
def test_pinned_cpus_may_be_held_either_way(
    kind: str, cloud: Cloud, run_placement: RunPlacement
) -> None:
    """As the host offered them when the server was built."""
    server = cloud.add_server(flavor=PINNED)
    cloud.add_provider(host := builders.a_uuid(), "host", PCPU=4, VCPU=4, MEMORY_MB=600, DISK_GB=9)
    resources = {host: {"resources": {kind: 1, "MEMORY_MB": 512, "DISK_GB": 1}}}
    claim = builders.a_claim("", consumer_uuid=server.uuid, allocations=resources)
    cloud.engine.claims.claim([claim])
    assert run_placement("heal-allocations")[0] == 4
    assert cloud.held(server.uuid)[server.uuid] == resources


def test_a_server_that_could_not_be_asked_for_is_left(
    cloud: Cloud, run_placement: RunPlacement
) -> None:
    """It is unknown what it should hold; the others are healed."""
    cloud.add_server(flavor=builders.a_flavor(extra_specs={"hw:numa_nodes": "none"}))
    other = cloud.add_server()
    assert run_placement("heal-allocations")[0] == 0
    assert list(cloud.held(other.uuid)) == [other.uuid]


def test_amounts_of_all_groups_count(cloud: Cloud, run_placement: RunPlacement) -> None:
    """Whichever provider has what a suffix asks for."""
    flavor = builders.a_flavor(extra_specs={"resources1:MEMORY_MB": "9", "resources:DISK_GB": "0"})
    server = cloud.add_server(flavor=flavor)
    run_placement("heal-allocations")
    assert cloud.held(server.uuid)[server.uuid] == {
        cloud.nodes[0]: {"resources": {"VCPU": 1, "MEMORY_MB": 9}}
    }


def test_amounts_are_those_of_the_flavors_extra_specs(
    cloud: Cloud, run_placement: RunPlacement
) -> None:
    """As the scheduler would ask for them."""
    flavor = builders.a_flavor(extra_specs={"resources:VCPU": "0", "resources:DISK_GB": "3"})
    server = cloud.add_server(flavor=flavor)
    run_placement("heal-allocations")
    resources = cloud.held(server.uuid)[server.uuid][cloud.nodes[0]]["resources"]
    assert resources == {"MEMORY_MB": 512, "DISK_GB": 3}


def test_a_dry_run_only_says_what_it_would_do(cloud: Cloud, run_placement: RunPlacement) -> None:
    """It always ends with code 4."""
    server = cloud.add_server()
    code, out, _ = run_placement("heal-allocations", "--dry-run")
    assert (code, f"{server.uuid} on" in out, "1 would be healed" in out) == (4, True, True)
    assert cloud.held() == {}


@pytest.mark.parametrize(
    "state",
    [
        {"host": None, "node": None, "vm_state": "error"},
        {"task_state": "deleting"},
        {"vm_state": "building", "task_state": "spawning"},
    ],
    ids=["no-host", "deleting", "building"],
)
def test_servers_with_an_operation_under_way_are_left_alone(
    cloud: Cloud, run_placement: RunPlacement, state: dict[str, Any]
) -> None:
    """The operation sees to the allocations, too."""
    cloud.add_server(**state)
    code, out, _ = run_placement("heal-allocations", "--verbose")
    assert (code, "skipped" in out) == (4, True)
    assert cloud.held() == {}


def test_a_server_that_is_deleted_meanwhile_gets_nothing(
    cloud: Cloud, run_placement: RunPlacement
) -> None:
    """Its allocations are released permanently before its record goes."""
    server = cloud.add_server()
    cloud.bus.meanwhile(
        "claim_batch", lambda: cloud.engine.claims.release({server.uuid: FENCE_FINAL})
    )
    code, out, _ = run_placement("heal-allocations", "--verbose")
    assert (code, "changed meanwhile" in out) == (4, True)
    assert cloud.held() == {}


def test_a_host_that_is_full_refuses(cloud: Cloud, run_placement: RunPlacement) -> None:
    """With the reason; the other servers are healed all the same."""
    node = cloud.cell.nodes[1]
    server = cloud.add_server(host=node.host, node=node.node)
    cloud.hold(builders.a_uuid(), resources={"VCPU": 8})
    refused = cloud.add_server()
    code, out, _ = run_placement("heal-allocations")
    assert code == 3
    assert f"{refused.uuid} on cell1-host1" in out
    assert "not healed: VCPU on cell1-host1: 1 asked, 0 free" in out
    assert cloud.held(server.uuid)


def test_a_server_whose_node_is_unknown_is_named(cloud: Cloud, run_placement: RunPlacement) -> None:
    """The other servers are healed all the same."""
    lost, server = cloud.add_server(node="gone"), cloud.add_server()
    code, out, _ = run_placement("heal-allocations")
    assert (
        code,
        f"{lost.uuid} on cell1-host1: not healed: there is no compute node gone" in out,
    ) == (2, True)
    assert list(cloud.held()) == [server.uuid]


def test_so_many_are_healed_at_most(
    cloud: Cloud, run_placement: RunPlacement, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run after run, until the code says that there are no more."""
    monkeypatch.setattr(heal_allocations, "PAGE_SIZE", 2)
    for _ in range(5):
        cloud.add_server()
    codes = []
    for count in (2, 4, 5, 5):
        codes.append(run_placement("heal-allocations", "--max-count=2")[0])
        assert len(cloud.held()) == count
    assert codes == [1, 1, 0, 4]


def test_all_pages_are_looked_at(
    cloud: Cloud, run_placement: RunPlacement, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the last server of one is deleted meanwhile."""
    monkeypatch.setattr(heal_allocations, "PAGE_SIZE", 2)
    servers = [cloud.add_server() for _ in range(5)]
    last = sorted(server.uuid for server in servers)[3]  # newest first: the second one is here
    cloud.bus.meanwhile("claim_batch", lambda: cloud.cell.instances.pop(last), when_done=True)
    code, _, _ = run_placement("heal-allocations")
    assert code == 0
    assert set(cloud.held()) == {server.uuid for server in servers}


def test_what_is_held_of_another_host_is_not_healed(
    cloud: Cloud, run_placement: RunPlacement
) -> None:
    """The code says that an operator has to look."""
    server = cloud.add_server()
    allocations = cloud.hold(server.uuid, cloud.nodes[1])
    code, out, _ = run_placement("heal-allocations")
    assert (code, "holds resources on host cell1-host2" in out) == (3, True)
    assert cloud.held() == {server.uuid: allocations}


def test_one_server_can_be_named(cloud: Cloud, run_placement: RunPlacement) -> None:
    """The others are not looked at."""
    one, _other = cloud.add_server(), cloud.add_server()
    assert run_placement("heal-allocations", "--instance", one.uuid)[0] == 0
    assert list(cloud.held()) == [one.uuid]


def test_a_cell_that_does_not_answer_is_left_out(cloud: Cloud, run_placement: RunPlacement) -> None:
    """The others are healed; it is said, and the code tells."""
    other = cloud.plane.add_cell("cell2")
    far, near = cloud.add_server(other), cloud.add_server()
    cloud.lose(other)
    code, _, err = run_placement("heal-allocations")
    assert (code, err) == (10, "cell cell2 does not answer; its servers are skipped\n")
    assert list(cloud.held()) == [near.uuid]
    code, _, err = run_placement("heal-allocations", "--instance", far.uuid)
    assert (code, "cell2" in err) == (10, True)


def test_a_failure_half_way_ends_it(cloud: Cloud, run_placement: RunPlacement) -> None:
    """With one line; the next run goes on."""
    cloud.add_server()
    cloud.bus.fail("claim_batch", AWAY)
    code, _, err = run_placement("heal-allocations")
    assert (code, len(err.splitlines())) == (255, 1)
    assert run_placement("heal-allocations")[0] == 0


@pytest.mark.parametrize(
    "words",
    [
        ["--max-count=0"],
        ["--max-count=many"],
        ["--instance=web"],
        ["--instance=7260669a-e3d4-4867-aaa7-683e2ab6958c"],
        ["--instance=7260669a-e3d4-4867-aaa7-683e2ab6958c", "--max-count=1"],
    ],
    ids=["zero", "text", "no-uuid", "unknown", "both"],
)
def test_wrong_input_is_refused(run_placement: RunPlacement, words: list[str]) -> None:
    """With one line that says what was expected."""
    code, out, err = run_placement("heal-allocations", *words)
    assert (code, out, len(err.splitlines())) == (127, "", 1)
