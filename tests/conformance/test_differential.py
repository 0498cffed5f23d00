"""Our Placement API answers as the reference implementation does, except for what we decided.

`make test` plays a few short stories, always the same: others may find what is not decided yet.
`make differential` plays many long ones, those of ``ARMILLARY_DIFFERENTIAL_SEED``, as many as
``ARMILLARY_DIFFERENTIAL_STORIES`` says. The decisions are in `docs/operating/placement.md`.
"""

import os
import random
from collections.abc import Iterator

import pytest

from tests.conformance.candidate_questions import ask_for_candidates, make_topology
from tests.conformance.differential import Pair, Reference
from tests.conformance.request_sequences import play
from tests.conformance.stories import LATEST, Story
from tests.fixtures.placement.placement_fuzz_world import EmptyWorld
from tests.fixtures.plugins import sampling

pytestmark = pytest.mark.sampled_file(every=3)

IS_LONG = sampling.TAKES_ALL
SEED = int(os.environ.get("ARMILLARY_DIFFERENTIAL_SEED", "1"))
STORIES = int(os.environ.get("ARMILLARY_DIFFERENTIAL_STORIES", "2"))
LENGTH = 80 if IS_LONG else 25
QUESTIONS = 60 if IS_LONG else 30


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Return both implementations, each with a database of its own."""
    reference = Reference(tmp_path_factory.mktemp("reference"))
    world = EmptyWorld(tmp_path_factory.mktemp("ours"))
    yield Pair(reference, world)
    reference.close()
    world.close()


@pytest.mark.parametrize("number", range(STORIES))
def test_a_sequence_of_requests_is_answered_as_by_the_reference(pair: Pair, number: int) -> None:
    """Statuses, bodies, codes, generations, headers."""
    pair.begin()
    play(Story(pair, random.Random(SEED + number)), LENGTH)
    assert len(pair.asked) > 10
    assert not pair.differences, _told(pair)


@pytest.mark.parametrize("number", range(STORIES))
def test_candidates_are_those_of_the_reference(pair: Pair, number: int) -> None:
    """On random trees, for questions of all versions."""
    pair.begin()
    story = Story(pair, random.Random(SEED + number), oddness=0)
    make_topology(story)
    for _ in range(QUESTIONS):
        story.version = LATEST if story.chance(0.7) else story.any_version()
        ask_for_candidates(story)
    assert not pair.differences, _told(pair)


def _told(pair: Pair) -> str:
    first = pair.differences[0]
    return "\n".join([f"seed {SEED}", *map(str, first.story), "", str(first)])
