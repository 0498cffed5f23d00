"""A deployment beside clients that connect, begin a request and never end it."""

from urllib.parse import urlsplit

import pytest
import requests

from tests.fixtures import waiting
from tests.fixtures.embedded import embedded_system
from tests.fixtures.http_api.slow_clients import SlowClients, many_files
from tests.fixtures.services.ports import free_port

pytestmark = pytest.mark.sampled_file(every=3)

__all__ = ["many_files"]

SECONDS_MAX = 60.0
BODY = b"POST /allocation_candidates HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n"


@pytest.mark.usefixtures("many_files")
def test_both_apis_answer_beside_500_slow_clients(tmp_path):
    """Each API, with its number of threads by default."""
    rest_port = free_port()
    with embedded_system(tmp_path, hosts=1, placement__rest_bind_port=rest_port) as api:
        place = urlsplit(api.api_url)
        with SlowClients((place.hostname, place.port), BODY, b"x"):
            uuids = api.create_servers(api.create_flavor("small", vcpus=1, ram=64), 1)
            assert api.settled(uuids)[uuids[0]]["status"] == "ACTIVE"
        with SlowClients(("127.0.0.1", rest_port), BODY, b"x"):
            url = f"http://127.0.0.1:{rest_port}/resource_providers"
            answer = requests.get(url, timeout=waiting.seconds(SECONDS_MAX))
        assert len(answer.json()["resource_providers"]) == 3
