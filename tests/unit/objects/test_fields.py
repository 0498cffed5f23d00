"""Columns keep their type and shape on the wire, and refuse what is no column."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from objects.allocation_candidates import AllocationCandidates
from objects.base import ArmillaryObject


def through_the_wire(made):
    return ArmillaryObject.obj_from_primitive(json.loads(json.dumps(made.obj_to_primitive())))


@given(
    hnp.arrays(
        dtype=st.sampled_from([np.int64, np.float64, np.bool_]),
        shape=hnp.array_shapes(min_dims=1, max_dims=2, min_side=0),
        elements={"allow_nan": False},
    )
)
def test_numeric_columns_arrive_as_they_were(array):
    """Values, type and shape survive, also of empty columns."""
    received = through_the_wire(AllocationCandidates(amounts=array)).amounts
    assert received.dtype == array.dtype
    assert received.shape == array.shape
    np.testing.assert_array_equal(received, array)


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))))
def test_text_columns_arrive_as_they_were(texts):
    """Any text without a line break survives, also the empty one."""
    assert through_the_wire(AllocationCandidates(provider_uuids=texts)).provider_uuids == texts


def test_received_columns_can_be_changed():
    """A decision consumes resources in the columns it received."""
    received = through_the_wire(AllocationCandidates(used=np.zeros((2, 1), dtype=np.int64))).used
    received[0, 0] += 1
    assert received[0, 0] == 1


def test_a_text_is_no_numeric_column():
    """A column of objects could hide anything: refused."""
    with pytest.raises(ValueError, match="numbers"):
        AllocationCandidates(amounts=["a"])


def test_a_column_of_objects_is_refused_on_receipt():
    """A forged type never reaches NumPy's object loader."""
    primitive = AllocationCandidates(amounts=np.zeros(1)).obj_to_primitive()
    primitive["armillary_object.data"]["amounts"]["dtype"] = "|O"
    with pytest.raises(ValueError, match=r"numbers|object"):
        ArmillaryObject.obj_from_primitive(primitive)


def test_a_text_column_with_a_wrong_count_is_refused():
    """A line break inside a text would shift all rows after it."""
    primitive = AllocationCandidates(provider_uuids=["a\nb"]).obj_to_primitive()
    with pytest.raises(ValueError, match="announced"):
        ArmillaryObject.obj_from_primitive(primitive)
