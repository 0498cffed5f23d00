"""Odd requests at the image service: each is answered, none with a server error."""

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.fixtures.checks.fuzzing import ODD, altered, fuzzed
from tests.unit.api.image.conftest import Images

IMAGE = {
    "id": "5f3a4b1e-0000-4000-8000-000000000001", "name": "disk", "visibility": "private",
    "disk_format": "raw", "container_format": "bare", "min_disk": 1, "min_ram": 1, "tags": ["a"],
    "protected": False, "colour": "blue",
}  # fmt: skip
PATCH = [
    {"op": "add", "path": "/colour", "value": "blue"},
    {"op": "replace", "path": "/name", "value": "other"},
    {"op": "remove", "path": "/shade"},
]
PATHS = st.lists(
    st.sampled_from(["..", "%2e%2e", "%2F", "etc", "passwd", "file", "members", "tags", "%00", "~"])
    | st.text("a./%\\", max_size=6),
    max_size=5,
)
QUERY = st.dictionaries(
    st.sampled_from(["limit", "marker", "sort", "sort_key", "sort_dir", "tag", "size_min", "name",
                     "created_at", "visibility", "member_status", "owner", "id"]),
    st.sampled_from(["-1", "1e9", "in:", "in:\"", "gte:", "asc", "id:asc,name", "\x00", "(", "%"])
    | st.text(max_size=10),
    max_size=3,
)  # fmt: skip


@fuzzed(altered(IMAGE))
def test_odd_images_are_answered(images: Images, value: Any) -> None:
    result = images.send("POST", "/v2/images", body=json.dumps(value))
    assert result.status_code < 500
    if result.status_code == 201:
        path = f"/v2/images/{result.json['id']}"
        assert images.send("GET", path).json == result.json
        images.patch(result.json["id"], ("replace", "/protected", False))
        assert images.send("DELETE", path).status_code == 204


@fuzzed(altered(PATCH) | ODD)
def test_odd_patches_are_answered(images: Images, value: Any) -> None:
    image = images.create()
    headers = {"Content-Type": "application/openstack-images-v2.1-json-patch"}
    path = f"/v2/images/{image['id']}"
    assert images.send("PATCH", path, body=json.dumps(value), headers=headers).status_code < 500
    images.patch(image["id"], ("replace", "/protected", False))
    assert images.send("DELETE", path).status_code == 204


@fuzzed(st.tuples(PATHS, QUERY))
def test_no_odd_path_or_query_leads_elsewhere(images: Images, store: Path, value: Any) -> None:
    """Nothing is read or written outside of the store, and nothing is a server error."""
    parts, query = value
    path = "/".join(["/v2/images", *parts])
    for method in ("GET", "DELETE", "PUT"):
        headers = {"Content-Type": "application/octet-stream"}
        result = images.send(method, path, params=query, body=b"x", headers=headers)
        assert result.status_code < 500
        assert b"root:" not in result.content
    assert not store.exists() or not list(store.iterdir())
