"""``armillary-manage placement audit``: what it finds, what it leaves alone, what it releases."""

import pytest

from armillary import exception
from conductor.super_conductor.repair import allocation_audit
from objects.instances.migration import MigrationStatus
from tests import builders
from tests.builders import a_migration
from tests.fixtures.placement import placement_template, placement_url
from tests.fixtures.placement.placement_repair import (
    AWAY,
    Cloud,
    RunPlacement,
    cloud,
    run_placement,
)

__all__ = ["cloud", "placement_template", "placement_url", "run_placement"]

NOW = "--min-age=0"


def summary(out: str) -> str:
    """Return the last line but those about what was left alone."""
    return next(line for line in out.splitlines() if " checked: " in line)


def test_nothing_is_found_where_all_is_well(cloud: Cloud, run_placement: RunPlacement) -> None:
    """Servers hold what they do, and go on doing so."""
    server = cloud.add_server()
    cloud.hold(server.uuid)
    code, out, _ = run_placement("audit", "--delete", NOW)
    assert (code, out) == (0, "1 consumer checked: 0 orphaned, 0 of them released\n")
    assert cloud.held(server.uuid)


def test_an_orphan_is_named_and_stays(cloud: Cloud, run_placement: RunPlacement) -> None:
    """Unless it is to be released."""
    orphan = builders.a_uuid()
    cloud.hold(orphan)
    code, out, _ = run_placement("audit", NOW)
    assert code == 3
    held = "DISK_GB=1, MEMORY_MB=512, VCPU=1 on cell1-host1"
    assert f"{orphan} (project p1, user u1): {held}: orphaned\n" in out
    assert cloud.held(orphan)


def test_orphans_are_released_for_good(cloud: Cloud, run_placement: RunPlacement) -> None:
    """With all that they hold, and only they; the second time there is nothing to do."""
    server, orphan = cloud.add_server(), builders.a_uuid()
    cloud.hold(server.uuid)
    cloud.hold(orphan)
    code, out, _ = run_placement("audit", "--delete", NOW)
    assert (code, summary(out)) == (4, "2 consumers checked: 1 orphaned, 1 of them released")
    assert list(cloud.held()) == [server.uuid]
    late = builders.a_claim(cloud.nodes[0], consumer_uuid=orphan, fence=5)
    (result,) = cloud.engine.claims.claim([late])
    assert not result.is_claimed
    assert run_placement("audit", "--delete", NOW)[0] == 0


def test_what_changed_just_now_is_left_alone(cloud: Cloud, run_placement: RunPlacement) -> None:
    """Ten minutes, unless told otherwise."""
    cloud.hold(builders.a_uuid())
    code, out, _ = run_placement("audit", "--delete", "--verbose")
    assert code == 0
    assert "1 skipped: changed just now" in out
    assert len(cloud.held()) == 1


def test_consumers_of_other_types_are_left_alone(cloud: Cloud, run_placement: RunPlacement) -> None:
    """Whatever they are, they are not servers."""
    cloud.hold(builders.a_uuid(), consumer_type="VOLUME")
    code, out, _ = run_placement("audit", "--delete", "--verbose", NOW)
    assert code == 0
    assert "skipped, its type is VOLUME" in out
    assert len(cloud.held()) == 1


def test_a_move_that_is_over_holds_nothing(cloud: Cloud, run_placement: RunPlacement) -> None:
    """One that has not ended holds what it does, beside the servers."""
    server = cloud.add_server()
    cloud.hold(server.uuid)
    living = a_migration(builders.a_uuid(), status=MigrationStatus.FINISHED)
    over = a_migration(builders.a_uuid(), status=MigrationStatus.ERROR)
    cloud.cell.migrations = [living, over]
    for move in (living, over):
        cloud.hold(move.uuid, consumer_type="MIGRATION")
    code, out, _ = run_placement("audit", "--delete", NOW)
    assert (code, summary(out)) == (4, "3 consumers checked: 1 orphaned, 1 of them released")
    assert set(cloud.held()) == {server.uuid, living.uuid}


def test_servers_that_are_being_built_are_left_alone(
    cloud: Cloud, run_placement: RunPlacement
) -> None:
    """Whatever they hold already."""
    (uuid,) = cloud.plane.create()
    cloud.hold(uuid)
    assert run_placement("audit", "--delete", NOW)[0] == 0
    assert cloud.held(uuid)


def test_a_cell_that_does_not_answer_keeps_its_servers(
    cloud: Cloud, run_placement: RunPlacement
) -> None:
    """The others are looked at; it is said, and the code tells."""
    other = cloud.plane.add_cell("cell2")
    far, orphan = cloud.add_server(other), builders.a_uuid()
    cloud.map_server(orphan, cloud.cell.uuid, is_deleted=True)
    cloud.hold(far.uuid)
    cloud.hold(orphan)
    cloud.lose(other)
    code, out, err = run_placement("audit", "--delete", NOW)
    assert code == 10
    assert err == "cell cell2 does not answer; its servers are skipped\n"
    assert "1 skipped: perhaps in a cell that does not answer" in out
    assert list(cloud.held()) == [far.uuid]


def test_allocations_on_hosts_of_others_are_released_on_demand_only(
    cloud: Cloud, run_placement: RunPlacement
) -> None:
    """Of the provider that is named."""
    theirs, other = builders.a_uuid(), builders.a_uuid()
    for provider, name in ((theirs, "theirs"), (other, "other")):
        cloud.add_provider(provider, name)
        cloud.hold(builders.a_uuid(), provider)
    code, out, _ = run_placement("audit", "--delete", "--verbose", NOW)
    assert code == 0
    assert "2 skipped: unknown, and on no known host" in out
    code, out, _ = run_placement("audit", "--delete", NOW, "--resource-provider", theirs)
    assert (code, summary(out)) == (4, "2 consumers checked: 1 orphaned, 1 of them released")
    assert [list(held) for held in cloud.held().values()] == [[other]]


def test_all_pages_are_looked_at(
    cloud: Cloud, run_placement: RunPlacement, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while their consumers go."""
    monkeypatch.setattr(allocation_audit, "PAGE_SIZE", 2)
    for _ in range(5):
        cloud.hold(builders.a_uuid())
    code, out, _ = run_placement("audit", "--delete", NOW)
    assert (code, summary(out)) == (4, "5 consumers checked: 5 orphaned, 5 of them released")
    assert cloud.held() == {}


def test_a_failure_half_way_ends_it(cloud: Cloud, run_placement: RunPlacement) -> None:
    """With one line; what was released is, and the next run goes on."""
    orphan = builders.a_uuid()
    cloud.hold(orphan)
    cloud.bus.fail("release", AWAY)
    code, _, err = run_placement("audit", "--delete", NOW)
    assert (code, len(err.splitlines())) == (1, 1)
    assert cloud.held(orphan)
    assert run_placement("audit", "--delete", NOW)[0] == 4


@pytest.mark.parametrize(
    "words",
    [["--min-age=soon"], ["--min-age=-1"], ["--min-age=" + "9" * 30], ["--resource-provider=x"]],
    ids=["text", "negative", "huge", "no-uuid"],
)
def test_wrong_input_is_refused(run_placement: RunPlacement, words: list[str]) -> None:
    """With one line that says what was expected."""
    code, out, err = run_placement("audit", *words)
    assert (code, out, len(err.splitlines())) == (127, "", 1)


def test_a_refusal_of_the_conductor_is_a_failure(cloud: Cloud, run_placement: RunPlacement) -> None:
    """Such as that of its database."""
    cloud.hold(builders.a_uuid())
    cloud.bus.fail("find_orphans", exception.DatabaseUnavailable(reason="it is unreachable"))
    assert run_placement("audit", NOW)[0] == 1
