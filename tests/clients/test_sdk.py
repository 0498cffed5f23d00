"""openstacksdk: its cloud layer, as Ansible's modules use it, and the proxy of compute."""

import json
from pathlib import Path

import pytest

from tests.clients import sdk_calls
from tests.clients.cloud import NEWEST, Cloud, needs

pytestmark = [pytest.mark.long, needs(NEWEST)]

NAMES = [
    line.partition(": ")[0]
    for line in sdk_calls.CALLS.replace("\\\n", "").strip().splitlines()
]  # fmt: skip


@pytest.fixture(scope="module")
def failed(clouds: Path) -> dict[str, str]:
    """Run all calls in one process; return those that failed, with the reason."""
    program = Path(sdk_calls.__file__)
    answer: dict[str, str] = json.loads(Cloud(clouds, NEWEST).program(program, "armillary"))
    return answer


@pytest.mark.parametrize("name", NAMES)
def test_a_call_of_the_sdk_answers_as_it_should(failed: dict[str, str], name: str) -> None:
    """One after the other, about one server."""
    assert name not in failed, failed[name]
