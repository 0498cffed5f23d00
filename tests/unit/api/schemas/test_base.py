"""The kinds of fields are JSON schemas that say what they mean."""

import jsonschema
import pytest

from api.schemas import base

KINDS = {
    name: value
    for name, value in vars(base).items()
    if name.isupper() and isinstance(value, dict) and name != "PAGE"
} | {
    "integer": base.integer(1, 2),
    "text": base.text(5),
    "name": base.name("^a$", "An a"),
    "nullable": base.nullable(base.text(5)),
    "text_map": base.text_map(),
    "fields": base.fields(base.PAGE),
    "every": base.every(base.PAGE),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_field_is_a_schema(kind: str) -> None:
    """Of draft 2020-12."""
    jsonschema.Draft202012Validator.check_schema(KINDS[kind])


def test_every_means_all_and_fields_means_some() -> None:
    """Neither means others."""
    properties = {"a": base.STRING, "b": base.STRING}
    assert base.every(properties)["required"] == ["a", "b"]
    assert base.fields(properties)["required"] == []
    assert base.fields(properties)["additionalProperties"] is False


@pytest.mark.parametrize("value", ["abc", None])
def test_nullable_adds_null_and_nothing_else(value: str | None) -> None:
    """The other rules stay."""
    schema = base.nullable(base.text(3))
    jsonschema.validate(value, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate("abcd", schema)
