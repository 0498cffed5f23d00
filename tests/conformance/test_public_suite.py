"""The Placement API's public test-suite passes against our REST program."""

from pathlib import Path

import pytest

from tests.fixtures.placement import conformance
from tests.fixtures.placement.conformance import Outcome

KNOWN = conformance.known_failures(Path(__file__).with_name("known_failures.yaml"))


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    """Return what the suite found; it takes some minutes."""
    return conformance.run(tmp_path_factory.mktemp("conformance"))


def test_every_test_passes_or_is_known_to_fail(outcomes: list[Outcome]) -> None:
    """Those that fail are named, with what they found."""
    failed = conformance.unexpected(outcomes, KNOWN)
    assert outcomes
    assert not failed, "\n".join(["", *map(str, failed)])


def test_what_is_known_to_fail_fails(outcomes: list[Outcome]) -> None:
    """A reason that is gone goes from the list, too."""
    assert conformance.outdated(outcomes, KNOWN) == []
