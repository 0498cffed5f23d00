"""The fleet over HTTP: columns, pages, and nothing where nothing changed."""

import gzip
import json

from tests import builders
from tests.fixtures.http_api import Api, message
from tests.fixtures.records.host_records import a_fleet
from tests.fixtures.super_conductor import SuperConductor

PATH = "/v2.1/armillary/fleet"


def test_hosts_are_columns_by_name(api: Api, conductor: SuperConductor) -> None:
    """With state, use, and the names that numbers stand for."""
    conductor.fleet = a_fleet(
        "h2", "h1", "h3", up=[True, True, False], disabled=[False, True, True], servers=[3, 1, 0]
    )
    shown = api.get(PATH).json
    assert shown["hosts"] == {
        "name": ["h1", "h2", "h3"],
        "uuid": [builders.a_uuid_of(name) for name in ("h1", "h2", "h3")],
        "cell": [0, 0, 0],
        "zone": [0, 0, 0],
        "state": ["draining", "up", "down"],
        "servers": [1, 3, 0],
        "aggregates": [[], [], []],
        "capacity": {"VCPU": [16, 16, 16]},
        "used": {"VCPU": [4, 4, 4]},
    }
    assert shown["names"] == {"cells": ["cell1"], "zones": ["nova"], "aggregates": []}
    assert shown["traits"]["names"] == ["HW_CPU_X86_AVX"]
    assert shown["traits"]["sets"][shown["traits"]["hosts"][0]] == [0]


def test_uuids_are_left_out_on_request(api: Api, conductor: SuperConductor) -> None:
    """Of that answer alone; they are most of it, and a picture of the fleet needs none."""
    conductor.fleet = a_fleet(*(f"h{number}" for number in range(3)))
    without = api.get(PATH, uuids="false", limit="2")
    assert "uuid" not in without.json["hosts"]
    assert without.json["hosts"]["name"] == ["h0", "h1"]
    assert without.json["next_marker"] == builders.a_uuid_of("h1")
    assert len(api.get(PATH, limit="2").json["hosts"]["uuid"]) == 2


def test_an_answer_that_is_known_is_not_sent_again(api: Api, conductor: SuperConductor) -> None:
    """Until something has changed."""
    conductor.fleet = a_fleet("h1")
    etag = api.get(PATH).headers["ETag"]
    again = api.send("GET", PATH, headers={"If-None-Match": etag})
    assert (again.status_code, again.text) == (304, "")
    conductor.fleet = a_fleet("h1", servers=[1])
    assert api.send("GET", PATH, headers={"If-None-Match": etag}).status_code == 200


def test_an_answer_is_compressed_for_who_can_read_that(api: Api, conductor: SuperConductor) -> None:
    """And is the same; others get it as it is, also after a change."""
    for count in (500, 600):
        conductor.fleet = a_fleet(*(f"h{number}" for number in range(count)))
        packed = api.send("GET", PATH, headers={"Accept-Encoding": "gzip"})
        plain = api.send("GET", PATH, headers={"Accept-Encoding": "identity"})
        assert packed.headers["Content-Encoding"] == "gzip"
        assert packed.headers["ETag"] == plain.headers["ETag"]
        assert "Content-Encoding" not in plain.headers
        assert len(packed.content) < len(plain.content) / 2
        unpacked = gzip.decompress(packed.content)
        assert unpacked == plain.content
        assert len(json.loads(unpacked)["hosts"]["name"]) == count


def test_pages_follow_each_other(api: Api, conductor: SuperConductor) -> None:
    """Each host is on one of them."""
    conductor.fleet = a_fleet(*(f"h{number}" for number in range(5)))
    names, query = [], {"limit": "2"}
    for _ in range(3):
        page = api.get(PATH, **query).json
        names += page["hosts"]["name"]
        query["marker"] = page["next_marker"]
    assert names == ["h0", "h1", "h2", "h3", "h4"]
    assert page["next_marker"] is None


def test_a_foreign_marker_is_refused(api: Api, conductor: SuperConductor) -> None:
    """The message says what to do."""
    answer = api.get(PATH, marker=builders.a_uuid())
    assert answer.status_code == 400
    assert "begin at the first page" in message(answer)


def test_a_page_is_bounded(api: Api) -> None:
    """A larger limit is refused."""
    assert api.get(PATH, limit="20001").status_code == 400
    assert api.get(PATH, limit="0").status_code == 400
