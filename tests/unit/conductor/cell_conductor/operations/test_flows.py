"""Every operation: its end, and the allocations at each of its stages, also after kills."""

import pytest

from conductor.cell_conductor.operations.flows import FLOWS
from objects.instances.instance_command import Verb
from tests.fixtures.cell import node_uuid
from tests.fixtures.cell.operated_cell import Seen
from tests.fixtures.cell.operation_stories import BETWEEN_CELLS, IMAGE, MOVE, STORIES, Stage, Story

INSTANCE, MIGRATION, NOBODY = "instance", "migration", "nobody"
OWNERS = {
    **dict.fromkeys(("resize", "migrate", "live_migrate"), (MIGRATION, INSTANCE)),
    **dict.fromkeys(("confirm_resize", "revert_resize"), (MIGRATION, INSTANCE)),
    "evacuate": (INSTANCE, INSTANCE),
    "unshelve": (NOBODY, INSTANCE),
    **dict.fromkeys(("stop", "start", "reboot", "rebuild"), (INSTANCE, NOBODY)),
    **dict.fromkeys(("soft_delete", "restore", "shelve", "unshelve_here"), (INSTANCE, NOBODY)),
    **dict.fromkeys(("pause", "unpause", "suspend", "resume"), (INSTANCE, NOBODY)),
    **dict.fromkeys(("shelve_offload", "rescue", "unrescue"), (INSTANCE, NOBODY)),
    **dict.fromkeys(("snapshot", "backup"), (INSTANCE, NOBODY)),
}
"""Operation -> who holds what there is at the source, and at the destination, meanwhile."""
UNCLAIMED = {("evacuate", "fence_source"), ("evacuate", "add_claim")}
"""Stages before which the destination is not claimed, or not any more."""

ALL = pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
ALIKE = {
    "backup", "backup-fails", "pause-fails", "reboot-paused", "snapshot-paused", "stop-fails",
    "start-fails", "rebuild-fails", "rebuild-kept", "resize-stopped", "resize-next-host",
    "resize-no-claim", "resize-detach-fails", "resize-only-here-fails", "migrate",
    "live-paused", "live-paused-fails", "live-next-host", "live-no-describe", "evacuate-no-spawn",
    "evacuate-no-room", "evacuate-off", "shelve-fails", "offload-fails", "unshelve-here-fails",
    "unshelve-next-host", "soft-delete-resized-fails", "soft-delete-shelved", "restore-shelved",
    "soft-delete-offloaded", "restore-offloaded",
}  # fmt: skip
"""Stories whose stages are all in other stories, too: no process is killed in them."""


def owed(seen: Seen, uuid: str) -> dict[str, set[str]]:
    """Return who has to hold what when a stage begins."""
    if seen.operation in ("soft_delete", "restore") and seen.host is None:
        return {}
    is_confirming = _is_confirming(seen)
    source_owner, destination_owner = OWNERS["confirm_resize" if is_confirming else seen.operation]
    start = "source" if is_confirming or seen.operation != "soft_delete" else "destination"
    source = seen.flow_state.get(start, {"host": "a"})["host"]
    held: dict[str, set[str]] = {}
    if seen.stage == "schedule":
        source_owner = NOBODY if source_owner is NOBODY else INSTANCE
    _hold(held, source_owner, source)
    if seen.stage != "schedule" and (seen.operation, seen.stage) not in UNCLAIMED:
        _hold(held, destination_owner, _claimed_last(seen))
    return {uuid if who is INSTANCE else MOVE: hosts for who, hosts in held.items()}


def _is_confirming(seen: Seen) -> bool:
    """Return whether a soft delete of a resized server confirms the resize first."""
    is_resized = seen.operation == "soft_delete" and "source" in seen.flow_state
    return is_resized and seen.stage != "power_off"


def _hold(held: dict[str, set[str]], owner: str, host: str | None) -> None:
    if owner is not NOBODY and host is not None:
        held.setdefault(owner, set()).add(node_uuid(host))


def _claimed_last(seen: Seen) -> str | None:
    """Return the host that was claimed last: a full one refused."""
    if "selections" not in seen.flow_state:
        return seen.flow_state.get("destination", {"host": None})["host"]
    tried = [
        each["armillary_object.data"]["service_host"]
        for each in seen.flow_state["selections"][: seen.flow_state["position"] + 1]
    ]
    claimed = [host for host in tried if node_uuid(host) not in seen.full]
    return claimed[-1] if claimed else None


def check_stages(stage: Stage) -> None:
    """Hold the table at every stage that was seen."""
    assert stage.cell.seen
    for seen in stage.cell.seen:
        assert seen.held == owed(seen, stage.cell.uuid), f"{seen.operation}.{seen.stage}"


@ALL
@pytest.mark.sampled(every=4)
def test_every_story_ends_as_it_should(stage: Stage, story: Story) -> None:
    """Though every message arrives twice; and at each stage hosts are held as they should."""
    story.check(stage.play(story, is_twice=True))
    check_stages(stage)


@pytest.mark.parametrize("name", [name for name in STORIES if name not in ALIKE])
@pytest.mark.sampled(every=6)
def test_a_kill_at_any_moment_changes_nothing(stage: Stage, name: str) -> None:
    """Another conductor goes on."""
    story = STORIES[name]
    cell = stage.set(story)

    def check() -> None:
        story.check(cell)
        check_stages(stage)

    assert cell.survive_kills(story.acts(), check, story=name) >= 4


def test_at_every_stage_of_every_flow_a_process_is_killed(stage: Stage) -> None:
    """A new operation, or a new stage, needs a story that comes there."""
    killed = [name for name in STORIES if name not in ALIKE]
    seen = {each for name in killed for each in stage.stages_of(name)}
    assert set(FLOWS["migrate"].stages) == set(FLOWS["resize"].stages)  # one flow, two names
    assert set(FLOWS["backup"].stages) == set(FLOWS["snapshot"].stages)
    stages = {
        (flow.operation, name)
        for flow in FLOWS.values()
        for name in flow.stages
        if flow.operation not in ("migrate", "backup")
    }
    assert seen == stages - BETWEEN_CELLS
    assert set(OWNERS) == set(FLOWS)


@pytest.mark.parametrize(
    ("name", "size_bytes"), [("snapshot", 7), ("snapshot-fails", None)], ids=["stored", "failed"]
)
def test_the_end_of_a_snapshot_is_told_to_the_record_of_its_image(
    stage: Stage, name: str, size_bytes: int | None
) -> None:
    """What was stored, or that there is nothing."""
    cell = stage.play(STORIES[name])
    assert cell.top.ended_images == {IMAGE.id: size_bytes}


def test_an_evacuation_names_the_host_whose_disks_are_taken_over(stage: Stage) -> None:
    """That is down; the destination takes those of no other host."""
    story = STORIES["evacuate"]
    cell = stage.set(story)
    for act in story.acts():
        act(cell)
    named = set()
    while cell.operation is not None:
        named |= {
            (each.host, each.step.arguments.get("former_host"))
            for agent in cell.agents.values()
            for each in agent.commands
            if each.step is not None and each.step.verb == Verb.SPAWN
        }
        cell.step()
    assert named == {("b", "a")}
