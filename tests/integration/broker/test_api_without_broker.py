"""An API process beside a broker of its own that is stalled or unreachable: what its users read."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from tests.faults.stores import Broker, store_folder, why_missing
from tests.fixtures import waiting
from tests.fixtures.asking import wait_for
from tests.fixtures.deployment import START_SECONDS_MAX, Deployment
from tests.fixtures.services import leave_out

pytestmark = pytest.mark.long

TOP = "top"
LIMIT_SECONDS = 10.0
OPTIONS = f"[rpc]\nresponse_timeout_seconds = {LIMIT_SECONDS:g}\n"
SLACK_SECONDS = 5.0
CONCURRENT = 20
"""More requests at a time than the API has threads."""
WAVES = 5
FLAVOR = {"flavor": {"name": "never", "vcpus": 1, "ram": 64, "disk": 0}}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    if why_missing() is not None:
        leave_out("RabbitMQ of our own", str(why_missing()))
    with store_folder() as folder:
        made = Broker(folder / "broker", [TOP])
        try:
            made.start()
            made.wait()
            yield made
        finally:
            made.kill()


@pytest.fixture(scope="module")
def deployment(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Lend an API and a super conductor; more is not needed to answer."""
    folder: Path = tmp_path_factory.mktemp("api-without-broker")
    databases = {
        name: f"sqlite:///{folder}/{name}.sqlite" for name in ("api", "cell0", "placement")
    }
    made = Deployment(
        folder, top_url=broker.url(TOP), databases=databases, cells=[], schedulers=0,
        options=OPTIONS,
    )  # fmt: skip
    try:
        made.prepare()
        made.start("super", "api")
        wait_for(made.answers, "the API can serve", START_SECONDS_MAX)
        yield made
    finally:
        made.stop()


def health(deployment: Deployment, path: str = "") -> requests.Response:
    return requests.get(
        f"{deployment.api_url}/healthcheck{path}", timeout=waiting.seconds(LIMIT_SECONDS)
    )


def lacks_its_broker(deployment: Deployment) -> bool:
    """Whether it is not ready for that reason; at first it may only miss an answer."""
    answer = health(deployment)
    return answer.status_code == 503 and "broker" in answer.text


def ask(deployment: Deployment, method: str) -> tuple[int, float]:
    """Return the status of a request, and for how many seconds it took."""
    body = FLAVOR if method == "POST" else None
    begun = time.monotonic()
    status = deployment.request(method, "/flavors", json=body).status_code
    return status, time.monotonic() - begun


@pytest.mark.parametrize("fault", ["is stalled", "is unreachable"])
def test_requests_are_503_while_the_broker_cannot_be_used(
    deployment: Deployment, broker: Broker, fault: str
) -> None:
    """Within the limit, all of more requests than threads; readiness says what is missing.

    The process is alive all the time, and serves again without a restart.
    """
    assert ask(deployment, "GET")[0] == 200
    broker.pause() if fault == "is stalled" else broker.kill()
    try:
        wait_for(lambda: lacks_its_broker(deployment), "it is not ready, and says why", 60)
        methods = ["GET", "POST"] * (CONCURRENT // 2)
        with ThreadPoolExecutor(CONCURRENT) as pool:
            found = list(pool.map(lambda method: ask(deployment, method), methods))
        assert {status for status, _ in found} == {503}
        assert max(seconds for _, seconds in found) < waiting.seconds(LIMIT_SECONDS + SLACK_SECONDS)
        assert health(deployment, "/live").status_code == 200
    finally:
        broker.go_on() if fault == "is stalled" else broker.start()
    wait_for(deployment.answers, "it is ready again", 60)
    wait_for(lambda: ask(deployment, "GET")[0] == 200, "it serves again", 60)
    with ThreadPoolExecutor(CONCURRENT) as pool:
        found = list(pool.map(lambda _: ask(deployment, "GET"), range(WAVES * CONCURRENT)))
    assert {status for status, _ in found} == {200}, "other connections are found broken later"
    names = [each["name"] for each in deployment.get("/flavors")["flavors"]]
    assert FLAVOR["flavor"]["name"] not in names, "what is 503 was not done"
