"""Versions: said honestly."""

from api import openapi
from tests.fixtures.http_api import Api


def test_the_root_lists_the_versions(api: Api) -> None:
    """From the first to the newest."""
    oldest, version = api.get("/").json["versions"]
    assert (oldest["id"], oldest["status"]) == ("v2.0", "SUPPORTED")
    assert api.get("/v2/").json["version"]["links"] == oldest["links"]
    assert (version["id"], version["status"]) == ("v2.1", "CURRENT")
    assert (version["min_version"], version["version"]) == ("2.1", "2.96")


def test_the_version_says_the_same(api: Api) -> None:
    """With the type of its bodies."""
    version = api.get("/v2.1/").json["version"]
    assert version["version"] == "2.96"
    assert version["media-types"][0]["base"] == "application/json"
    assert version["links"][0]["href"].endswith("/v2.1/")


def test_the_document_is_served(api: Api) -> None:
    """The same that the command prints."""
    assert api.get("/v2.1/openapi.json").json == openapi.document()


def test_the_oldest_version_has_no_microversions(api: Api) -> None:
    """It is the first of those of 2.1, whatever is asked for."""
    headers = {"OpenStack-API-Version": "compute 2.96"}
    assert api.send("GET", "/v2/os-hosts", headers=headers).status_code == 200
    assert api.send("GET", "/v2.1/os-hosts", headers=headers).status_code == 404


def test_a_path_without_its_last_name_is_not_found(api: Api) -> None:
    """Rather than another path that lacks the method."""
    assert api.delete("/v2.1/images/").status_code == 404
    assert api.delete("/v2.1/images").status_code == 405
