"""Two super conductors may have asked for hosts: what the cell works with is what is held."""

import pytest

from armillary.context import admin_context
from conductor.cell_conductor.operations import move_stages
from conductor.cell_conductor.operations.rows import fence
from objects.allocations.allocation import AllocationClaim, ClaimStatus
from objects.allocations.fence import FenceStep
from objects.packed.claim_batch import ClaimBatch
from tests.fixtures.cell import node_uuid
from tests.fixtures.cell.operated_cell import OperatedCell, Seen
from tests.fixtures.cell.operation_stories import STORIES, Stage

MOVES = pytest.mark.parametrize("name", ["resize", "live", "unshelve"])


def a_claim(cell: OperatedCell, host: str, number: int) -> AllocationClaim:
    """Return what a scheduler claims for the cell's instance."""
    return AllocationClaim(
        consumer_uuid=cell.uuid, project_id="p", user_id="u", fence=number, replace=True,
        allocations={node_uuid(host): {"resources": {"VCPU": 1}}},
    )  # fmt: skip


def claim(cell: OperatedCell, host: str, step: int) -> str:
    """Claim by one of the fences of the operation under way; return how it went."""
    assert cell.operation is not None
    number = int(fence(cell.operation).at(step))
    batch = ClaimBatch.of([a_claim(cell, host, number)])
    answers = cell.placement.claim_batch(admin_context(), batch)
    return answers.unpacked([cell.uuid])[0].status


@MOVES
def test_what_another_try_claimed_meanwhile_does_not_stand(stage: Stage, name: str) -> None:
    """The first one's hosts came to the cell, and the second one's claim after that."""
    story = STORIES[name]
    cell = stage.set(story)
    begin, find_hosts = story.acts()
    begin(cell)
    claimed: list[str] = []

    def look(seen: Seen) -> None:
        if seen.stage == move_stages.SECURE and not claimed:
            claimed.append(claim(cell, "c", FenceStep.ALTERNATE - 2))

    cell.on_stage = look
    find_hosts(cell)
    cell.settle()
    assert claimed == [ClaimStatus.CLAIMED]
    story.check(cell)


@pytest.mark.parametrize("name", ["resize", "unshelve"])
def test_what_another_try_claims_later_is_refused(stage: Stage, name: str) -> None:
    """The cell has begun to move the guest."""
    story = STORIES[name]
    cell = stage.set(story)
    for act in story.acts():
        act(cell)
    assert claim(cell, "c", FenceStep.ALTERNATE - 2) == ClaimStatus.FENCED
    cell.settle()
    story.check(cell)
