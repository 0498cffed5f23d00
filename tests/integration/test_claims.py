"""Claims on real processes, broker and databases, each service of which is killed meanwhile."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.asking import wait_for
from tests.fixtures.deployment import Deployment, deployed
from tests.integration.pools import add_pool

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.long]

PATIENCE_SECONDS = 120.0
CLAIMS = "/armillary/claims"
SIZE = "vcpus=64:memory_mb=65536:disk_gb=500"
AMOUNT_GB = 10
KILLED = ("scheduler-1", "placement", "super", "scheduler-2", "placement", "super")
OPTIONS = """
[conductor]
lease_seconds = 5
recovery_interval_seconds = 1
retry_pause_seconds = 1
"""


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Lend one of a cell with a host, and two pools of storage."""
    folder: Path = tmp_path_factory.mktemp("claims")
    cells = {"cell1": {"cell1-agent": [f"name=host1:{SIZE}"]}}
    with deployed(folder, cells, kind=Deployment, options=OPTIONS) as made:
        made.wait_until_ready()
        for name in ("array1", "array2"):
            add_pool(made, name)
        yield made


def used_gb(deployment: Deployment) -> int:
    pools = deployment.get("/armillary/pools")["pools"]
    return sum(pool["resources"]["DISK_GB"]["used"] for pool in pools)


def claim(deployment: Deployment) -> str:
    """Claim once, with as many requests as that takes; return the claim's ID."""
    body = {"claim": {"kind": "storage", "resources": {"DISK_GB": AMOUNT_GB}}}
    headers = {"Idempotency-Key": f'"{uuid.uuid4()}"'}

    def accepted() -> str | None:
        answer = deployment.request("POST", CLAIMS, json=body, headers=headers)
        return str(answer.json()["claim"]["id"]) if answer.status_code == 202 else None

    return str(wait_for(accepted, "the claim is accepted", PATIENCE_SECONDS))


def end(deployment: Deployment, claim_id: str) -> None:
    """End a claim, with as many requests as that takes."""

    def ended() -> bool:
        answer = deployment.request("DELETE", f"{CLAIMS}/{claim_id}")
        return answer.status_code in (204, 404)

    wait_for(ended, "the end is accepted", PATIENCE_SECONDS)


def states(deployment: Deployment) -> dict[str, str]:
    return {one["id"]: one["status"] for one in deployment.get(CLAIMS)["claims"]}


def test_claims_are_held_once_and_released_whatever_is_killed(deployment: Deployment) -> None:
    """Each accepted claim becomes active and holds its amount once; its end leaves nothing."""
    made = []
    for name in KILLED:
        made += [claim(deployment), claim(deployment)]
        deployment.kill(name)
        deployment.start(name)
    made.append(claim(deployment))
    wait_for(
        lambda: states(deployment) == dict.fromkeys(made, "ACTIVE"),
        "all claims are active, and no other",
        PATIENCE_SECONDS,
    )
    assert used_gb(deployment) == AMOUNT_GB * len(made)
    for number, claim_id in enumerate(made):
        end(deployment, claim_id)
        if number % 4 == 0:
            name = KILLED[number // 4]
            deployment.kill(name)
            deployment.start(name)
    wait_for(lambda: states(deployment) == {}, "all claims have ended", PATIENCE_SECONDS)
    assert used_gb(deployment) == 0
