"""Packed UUIDs read like the list that they were made from."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.hosts.packed_uuids import PackedUUIDs, which_have_any
from tests.builders import a_uuid

UUIDS = st.lists(st.uuids().map(str), max_size=4)


@given(UUIDS)
def test_it_reads_like_the_list(uuids: list[str]) -> None:
    """In its order, item by item and as a whole."""
    packed = PackedUUIDs.of(uuids)
    assert isinstance(packed, PackedUUIDs)
    assert list(packed) == uuids
    assert len(packed) == len(uuids)
    assert packed == PackedUUIDs.of(uuids)
    assert [packed[index] for index in range(-len(uuids), len(uuids))] == uuids * 2
    assert all(uuid in packed for uuid in uuids)
    assert packed[:2] == uuids[:2]


@pytest.mark.parametrize(
    "uuids",
    [["web-1"], [a_uuid().upper()], [a_uuid().replace("-", "")], [a_uuid(), ""]],
    ids=["a name", "upper case", "without dashes", "empty"],
)
def test_what_is_not_in_the_usual_form_stays_as_it_is(uuids: list[str]) -> None:
    """Nothing is lost."""
    assert PackedUUIDs.of(uuids) is uuids


def test_there_is_nothing_beyond_its_end() -> None:
    """As in any list."""
    with pytest.raises(IndexError):
        PackedUUIDs.of([a_uuid()])[1]


@given(
    st.lists(st.tuples(UUIDS, st.sampled_from(["packed", "plain", "none"])), max_size=6), st.data()
)
def test_those_with_one_of_them_are_found(
    lists: list[tuple[list[str], str]], data: st.DataObject
) -> None:
    """However each is kept; others only by a rare accident."""
    kept: list[Sequence[str] | None] = [
        None if how == "none" else PackedUUIDs.of(uuids) if how == "packed" else uuids
        for uuids, how in lists
    ]
    present = sorted({uuid for each in kept for uuid in each or ()})
    wanted = set(data.draw(st.lists(st.sampled_from([*present, a_uuid()]), max_size=4)))
    having = {index for index, each in enumerate(kept) if wanted.intersection(each or ())}
    assert having <= set(which_have_any(kept, wanted))


def test_those_without_are_not() -> None:
    """Neither is anything for nothing."""
    lists = [PackedUUIDs.of([a_uuid(), a_uuid()]), [a_uuid()], None, ()]
    assert which_have_any(lists, {a_uuid(), "web-1"}) == []
    assert which_have_any(lists, set()) == []
    assert which_have_any([], {a_uuid()}) == []
