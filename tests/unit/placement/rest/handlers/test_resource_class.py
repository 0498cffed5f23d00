"""Resource classes over REST: names, and what each version does."""

from typing import Any

import pytest

from placement.engine import PlacementEngine
from tests.builders import a_provider
from tests.fixtures.placement.placement_rest import PlacementApi

LONGEST = "CUSTOM_" + "X" * 248
BAD_NAMES: dict[str, Any] = {
    "too-long": LONGEST + "X", "standard": "VCPU", "no-prefix": "GOLD", "prefix-alone": "CUSTOM_",
    "lower": "CUSTOM_gold", "space": "CUSTOM_A B", "line": "CUSTOM_GOLD\n", "snowman": "CUSTOM_☃",
}  # fmt: skip
each_bad_name = pytest.mark.parametrize("name", BAD_NAMES.values(), ids=list(BAD_NAMES))


def class_names(api: PlacementApi) -> list[str]:
    """Return the names of all classes."""
    return [item["name"] for item in api.get("/resource_classes").json["resource_classes"]]


def test_a_class_links_to_itself(api: PlacementApi) -> None:
    """Alone and in the list alike."""
    assert api.post("/resource_classes", {"name": LONGEST}).status_code == 201
    shown = api.get(f"/resource_classes/{LONGEST}").json
    assert shown["links"] == [{"rel": "self", "href": f"/resource_classes/{LONGEST}"}]
    assert shown in api.get("/resource_classes").json["resource_classes"]


@each_bad_name
def test_a_bad_name_is_refused(api: PlacementApi, name: str) -> None:
    """To make, to rename, in the body and in the path."""
    api.put("/resource_classes/CUSTOM_OLD")
    before = class_names(api)
    assert api.post("/resource_classes", {"name": name}).status_code == 400
    renamed = api.put("/resource_classes/CUSTOM_OLD", {"name": name}, version="1.6")
    assert renamed.status_code == 400
    if name.isascii() and name.isprintable():
        path = name.replace(" ", "%20")
        assert api.put(f"/resource_classes/{path}").status_code == 400
    assert class_names(api) == before


@pytest.mark.parametrize(
    "body", [{}, [], "CUSTOM_A", 1, {"name": None}, {"name": 1}, {"name": "CUSTOM_A", "x": 1}],
    ids=["empty", "list", "text", "number", "null", "name-number", "unknown-field"],
)  # fmt: skip
def test_a_bad_body_is_refused(api: PlacementApi, body: Any) -> None:
    """Nothing is made."""
    before = class_names(api)
    assert api.post("/resource_classes", body).status_code == 400
    assert class_names(api) == before


@pytest.mark.parametrize("name", ["CUSTOM_UNMADE", "vcpu", "%E2%98%83", "%27", "X" * 300])
def test_a_class_that_is_not_there(api: PlacementApi, name: str) -> None:
    """404 to read, to delete and to rename."""
    path = f"/resource_classes/{name}"
    assert api.get(path).status_code == 404
    assert api.delete(path).status_code == 404
    assert api.put(path, {"name": "CUSTOM_NEW"}, version="1.6").status_code == 404


def test_a_body_is_for_versions_that_rename(api: PlacementApi, engine: PlacementEngine) -> None:
    """Up to 1.6; later versions do not look at it."""
    engine.providers.set_providers([a_provider(inventories={"CUSTOM_OLD": {"total": 3}})])
    answer = api.put("/resource_classes/CUSTOM_OLD", {"name": "CUSTOM_NEW"}, version="1.2")
    assert (answer.status_code, answer.json["name"]) == (200, "CUSTOM_NEW")
    answer = api.put("/resource_classes/CUSTOM_NEW", {"name": "CUSTOM_OLD"}, version="1.7")
    assert answer.status_code == 204
    assert class_names(api)[-1] == "CUSTOM_NEW"
    assert api.delete("/resource_classes/CUSTOM_NEW").status_code == 409
