"""A question for candidates, as an older placement is asked."""

from __future__ import annotations

from objects.base import ArmillaryObject
from objects.resource_query import ResourceQuery
from tests.builders import a_query

VERSIONS = {"ResourceQuery": "1.0", "RequestGroup": "1.0"}
_DATA = ArmillaryObject.primitive_key("data")


def test_an_older_placement_is_asked_for_the_roots_traits_of_the_provider() -> None:
    """To it every provider is a root."""
    query = a_query(required_traits=[["HW_A"]], forbidden_traits=["HW_B"])
    query.root_required, query.root_forbidden = ["HW_C"], ["HW_D"]
    data = query.obj_to_primitive("1.0", VERSIONS)[_DATA]
    assert set(data) == {"groups", "group_policy", "limit"}
    group = data["groups"][0][_DATA]
    assert group["required_traits"] == [["HW_A"], ["HW_C"]]
    assert group["forbidden_traits"] == ["HW_B", "HW_D"]


def test_a_question_of_an_older_client_has_the_defaults() -> None:
    """Trees are welcome, nothing is asked of roots."""
    primitive = a_query().obj_to_primitive("1.0", VERSIONS)
    primitive[ArmillaryObject.primitive_key("version")] = ResourceQuery.VERSION
    query = ArmillaryObject.obj_from_primitive(primitive)
    assert isinstance(query, ResourceQuery)
    query.obj_set_defaults_quietly()
    assert (query.root_required, query.same_subtree, query.is_nested) == ([], [], True)
