"""Versions: said honestly."""

from __future__ import annotations

from api import openapi
from tests.fixtures.http_api import Api


def test_the_root_lists_the_versions(api: Api) -> None:
    """From the first to the newest."""
    (version,) = api.get("/").json["versions"]
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
