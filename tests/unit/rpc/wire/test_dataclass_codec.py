"""Wire form of dataclasses: what arrives is what was sent, also between releases."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from armillary import exception
from objects.hosts.service import Service
from rpc.wire.dataclass_codec import Codec, codec_of, dataclasses_in
from rpc.wire.serializer import ObjectSerializer


@dataclasses.dataclass(frozen=True, slots=True)
class Reader:
    """A reader, who may have been sent by another."""

    name: str
    born: datetime | None = None
    sent_by: Reader | None = None
    tags: tuple[str, ...] = ()
    fee: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class Library:
    """Everything that a field may be."""

    readers: list[Reader]
    by_city: dict[str, Reader]
    service: Service | None
    counts: Mapping[str, int]
    more: Any = None


def codec(hint: Any) -> Codec:
    found = codec_of(hint)
    assert found is not None
    return found


def sent(hint: Any, value: Any) -> Any:
    """Return a value after its way through JSON, as between two processes."""
    serializer = ObjectSerializer()
    wire = json.dumps(serializer.serialize_entity(None, codec(hint).encode(value)))
    return codec(hint).decode(serializer.rebuild(None, json.loads(wire)))


JANE = Reader("Jane", datetime(2026, 1, 2, tzinfo=UTC), Reader("Emma"), ("a", "b"), 2)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Reader, JANE),
        (Reader | None, None),
        (Reader | None, JANE),
        (list[Reader], [JANE, Reader("Emma")]),
        (Sequence[Reader], [JANE]),
        (tuple[Reader, ...], (JANE,)),
        (dict[str, list[Reader]], {"Bath": [JANE]}),
        (Library, Library([JANE], {"Bath": JANE}, None, {"books": 3}, [1])),
    ],
    ids=str,
)
def test_what_arrives_is_what_was_sent(hint: Any, value: Any) -> None:
    """With the same classes, however deep."""
    assert sent(hint, value) == value


def test_versioned_objects_inside_arrive() -> None:
    """They are left to the serializer."""
    found = sent(Library, Library([], {}, Service(host="one"), {}))
    assert isinstance(found.service, Service)
    assert found.service.host == "one"


@pytest.mark.parametrize(
    "hint", [str, int | None, Service, list[Service], Mapping[str, Sequence[str]], Any], ids=str
)
def test_other_values_are_sent_as_they_are(hint: Any) -> None:
    """Methods without dataclasses pay nothing."""
    assert codec_of(hint) is None


def test_a_field_of_a_newer_release_is_ignored() -> None:
    """As a field that was not asked for."""
    assert codec(Reader).decode({"name": "Jane", "made_up": 1}) == Reader("Jane")


@pytest.mark.parametrize(
    ("wire", "why"),
    [
        ({}, "Reader without name"),
        ({"name": 1}, "int instead of str"),
        ({"name": None}, "NoneType instead of str"),
        ({"name": "Jane", "born": "yesterday"}, "yesterday"),
        ({"name": "Jane", "tags": "abc"}, "str instead of list or tuple"),
        ("Jane", "str instead of dict"),
        (None, "NoneType instead of dict"),
    ],
    ids=["missing", "wrong-class", "null", "no-date", "no-list", "text", "nothing"],
)
def test_what_is_not_of_the_type_is_refused(wire: Any, why: str) -> None:
    """The error says what was wrong."""
    with pytest.raises(exception.Invalid, match=why):
        codec(Reader).decode(wire)


def test_an_object_of_another_class_is_refused() -> None:
    """A message makes the classes of the declaration, no others."""
    wire = {"readers": [], "by_city": {}, "counts": {}, "service": {"host": "one"}}
    with pytest.raises(exception.Invalid, match="dict instead of Service or NoneType"):
        codec(Library).decode(wire)


def test_a_union_of_two_classes_is_a_wrong_declaration() -> None:
    """A message does not say which it is."""
    with pytest.raises(TypeError, match="one type and None"):
        codec_of(Reader | Library)


def test_the_dataclasses_of_a_hint_are_found() -> None:
    """The reference page lists them."""
    assert list(dataclasses_in(dict[str, list[Reader] | None])) == [Reader]
