"""The version that a request is answered in."""

import pytest

from tests.fixtures.placement.placement_rest import PlacementApi, check_error, detail

PROVIDERS = "/resource_providers"


@pytest.mark.parametrize(
    ("wanted", "served"), [(None, "1.0"), ("1.28", "1.28"), ("latest", "1.39")]
)
def test_an_answer_says_its_version(api: PlacementApi, wanted: str | None, served: str) -> None:
    """And that it would be another one for another version."""
    result = api.get("/", version=wanted)
    assert result.headers["openstack-api-version"] == f"placement {served}"
    assert "openstack-api-version" in result.headers["vary"]


def test_an_error_says_its_version_too(api: PlacementApi) -> None:
    """Also one that no handler made."""
    assert api.delete("/", version="1.5").headers["openstack-api-version"] == "placement 1.5"


@pytest.mark.parametrize("version", ["0.9", "1.40", "2.0"])
def test_a_version_that_is_not_served_is_a_406(api: PlacementApi, version: str) -> None:
    """Which names those that are."""
    result = api.get(PROVIDERS, version=version)
    error = check_error(result)
    assert result.status_code == 406
    assert error["detail"] == f"Unacceptable version header: {version}"
    assert (error["min_version"], error["max_version"]) == ("1.0", "1.39")


@pytest.mark.parametrize("version", ["pony.horse", "1.2.3", "1.1\x7f"])
def test_what_is_not_a_version_is_a_400(api: PlacementApi, version: str) -> None:
    """It is repeated."""
    result = api.get(PROVIDERS, version=version)
    assert result.status_code == 400
    assert detail(result).startswith("invalid version string:")


@pytest.mark.parametrize(("version", "has_code"), [("1.22", False), ("1.23", True)])
def test_errors_have_a_code_since_1_23(api: PlacementApi, version: str, has_code: bool) -> None:
    """The general one, where there is none of its own."""
    error = check_error(api.get("/nothing", version=version))
    assert error.get("code") == ("placement.undefined_code" if has_code else None)


@pytest.mark.parametrize(("version", "is_dated"), [("1.14", False), ("1.15", True)])
def test_answers_have_a_date_since_1_15(api: PlacementApi, version: str, is_dated: bool) -> None:
    """And are not to be kept."""
    headers = api.get("/", version=version).headers
    assert (headers.get("cache-control") == "no-cache") is is_dated
    assert ("last-modified" in headers) is is_dated


@pytest.mark.parametrize(
    ("method", "path", "version", "status"),
    [
        ("GET", "/traits", "1.5", 404),
        ("GET", "/usages", "1.8", 404),
        ("POST", "/reshaper", "1.29", 404),
        ("DELETE", f"{PROVIDERS}/8f2c0c1e-0f0a-4b41-a0fd-2a3d4f2b9f10/inventories", "1.4", 405),
    ],
)
def test_what_came_later_is_not_there_before(
    api: PlacementApi, method: str, path: str, version: str, status: int
) -> None:
    """Or the method is not, where the path has others."""
    assert api.send(method, path, version=version).status_code == status
