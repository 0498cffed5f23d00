"""Usage of projects, from the records of their servers."""

from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import pytest

from api.handlers.quotas import usage
from tests import builders
from tests.fixtures.http_api import ADMIN, MEMBER, Api
from tests.fixtures.super_conductor import SuperConductor

PATH = "/v2.1/os-simple-tenant-usage"
DAY = {"start": "2020-01-02T00:00:00", "end": "2020-01-03T00:00:00.000000"}


@pytest.fixture(autouse=True)
def stock(conductor: SuperConductor) -> None:
    def server(name: str, day: int, hour: int, ended: datetime | None = None, **more: Any) -> Any:
        launched = datetime(2020, 1, day, hour, tzinfo=UTC)
        flavor = builders.a_flavor(name, vcpus=2, memory_mb=512, root_gb=3, ephemeral_gb=1)
        given = {"flavor": flavor, "launched_at": launched, "deleted_at": ended, **more}
        return builders.an_instance(name, **given)

    conductor.servers = [
        server("whole", 1, 0),
        server("late", 2, 18),
        server("gone", 1, 0, datetime(2020, 1, 2, 6, tzinfo=UTC), vm_state="deleted"),
        server("other", 1, 0, project_id="p2"),
        builders.an_instance("building", launched_at=None),
    ]


def test_a_project_sees_what_its_servers_used(api: Api) -> None:
    """Within the time: as long as each of them existed in it."""
    shown = api.get(f"{PATH}/p1", token=MEMBER, **DAY).json["tenant_usage"]
    hours = {each["name"]: each["hours"] for each in shown["server_usages"]}
    assert hours == {"whole": 24.0, "late": 6.0, "gone": 6.0}
    assert (shown["total_hours"], shown["total_vcpus_usage"]) == (36.0, 72.0)
    assert (shown["total_memory_mb_usage"], shown["total_local_gb_usage"]) == (18432.0, 144.0)
    (gone,) = [each for each in shown["server_usages"] if each["name"] == "gone"]
    assert (gone["state"], gone["uptime"]) == ("terminated", 30 * 3600)
    assert gone["ended_at"].startswith("2020-01-02T06:00:00")
    assert api.get(f"{PATH}/p1", token="u2:p2").status_code == 403


def test_an_administrator_sees_all_projects(api: Api) -> None:
    """With the servers, if they are asked for; in all versions."""
    usages = api.get(PATH, **DAY).json["tenant_usages"]
    assert [(each["tenant_id"], each["total_hours"]) for each in usages] == [
        ("p1", 36.0), ("p2", 24.0),
    ]  # fmt: skip
    old = {"OpenStack-API-Version": "compute 2.1"}
    detailed = api.send("GET", PATH, headers=old, params={**DAY, "detailed": "1"}).json
    assert [len(each["server_usages"]) for each in detailed["tenant_usages"]] == [3, 1]
    page = api.get(PATH, **DAY, limit="2").json
    assert len(page["tenant_usages_links"]) == 1
    assert api.get(PATH, token=MEMBER).status_code == 403
    assert api.get(f"{PATH}/p9", **DAY).json == {"tenant_usage": {}}


@pytest.mark.parametrize(
    "query", [{"start": DAY["end"], "end": DAY["start"]}, {"end": "tomorrow"}], ids=str
)
def test_a_bad_time_is_refused(query: dict[str, str], api: Api) -> None:
    assert api.get(f"{PATH}/p1", **query).status_code == 400


def test_the_usage_of_an_empty_project_is_not_found(api: Api) -> None:
    """It is not the list of all projects."""
    assert api.get("/v2.1/os-simple-tenant-usage/").status_code == 404
    assert api.get("/v2.1/os-simple-tenant-usage").status_code == 200


def test_a_user_asks_for_few_large_reports_in_a_row(api: Api, conductor: SuperConductor) -> None:
    """Before 2.40 an answer has all servers of the time, in whatever number."""
    old = {"OpenStack-API-Version": "compute 2.1"}
    few = [server for server in conductor.servers if server.launched_at]
    conductor.servers = few * 10

    def asked(token: str | None, path: str) -> int:
        answer = api.send("GET", path, headers=old, token=token, params=DAY)
        return int(answer.status_code)

    with patch.object(usage, "SERVERS_PER_UNIT", 0.5):
        assert asked("reader:p1", f"{PATH}/p1") == 200
        assert asked("reader:p1", f"{PATH}/p1") == 429
        assert asked("other-reader:p2", f"{PATH}/p2") == 200
        assert [asked(ADMIN, PATH) for _ in range(2)] == [200, 200]
