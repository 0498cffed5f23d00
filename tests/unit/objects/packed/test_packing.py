"""Packed columns come out as they went in, in few bytes; forged ones are refused."""

from __future__ import annotations

import base64
import json
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from objects.packed import packing

ARRAYS = hnp.arrays(
    dtype=st.sampled_from([np.int64, np.float64, np.bool_]),
    shape=hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=40),
)
EXTREMES = np.array([-(2**63), 2**63 - 1, 0, -1])


def wire_size(packed):
    return len(json.dumps(packed))


def unpacked(packed):
    return packing.unpack_numbers(json.loads(json.dumps(packed)))


@given(ARRAYS)
@example(EXTREMES)
@example(EXTREMES[::-1].copy())
@example(np.array([2**63 - 1, -(2**63)]))
@example(np.array([[np.nan, -0.0], [np.inf, 0.0]]))
def test_numbers_come_out_as_they_went_in(array):
    """Type, shape and every bit survive."""
    received = unpacked(packing.pack_numbers(array))
    assert received.dtype == array.dtype
    assert received.shape == array.shape
    assert np.ascontiguousarray(received).tobytes() == np.ascontiguousarray(array).tobytes()


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 5000], ids=str)
@pytest.mark.parametrize("most", [1, 3, 300, 70_000, 2**40], ids=str)
def test_every_width_survives_at_every_length(rows, most):
    """Bits, one, two, four and eight bytes a number, deflated or not."""
    numbers = np.random.default_rng(rows).integers(0, most + 1, rows) * 512 - 7
    np.testing.assert_array_equal(unpacked(packing.pack_numbers(numbers)), numbers)


@pytest.mark.parametrize(
    ("array", "bytes_max"),
    [
        pytest.param(np.full((10_000, 3), 262_144), 150, id="all alike"),
        pytest.param(np.arange(10_000) + 77, 120, id="consecutive ids"),
        pytest.param(np.arange(0, 20_000, 2), 120, id="every other id"),
        pytest.param(np.arange(10_000) % 64 * 2048, 14_000, id="memory in steps of 2048"),
        pytest.param(np.where(np.arange(10_000) % 7, 1.0, 16.0), 2_000, id="two ratios"),
        pytest.param(np.arange(10_000) % 3 == 0, 2_000, id="yes or no"),
    ],
)
def test_usual_columns_are_small(array, bytes_max):
    """Ten thousand rows of what fleets are like take few bytes."""
    assert wire_size(packing.pack_numbers(array)) <= bytes_max


@pytest.mark.parametrize(
    "numbers",
    [[[0], [0]], [[0], [1]], [1, 1], [3, 1]],
    ids=["alike rows", "rows", "alike numbers", "numbers"],
)
def test_unpacked_numbers_are_to_be_read(numbers):
    """A row may stand for others: code that consumes some has to work on a copy."""
    received = unpacked(packing.pack_numbers(np.array(numbers)))
    with pytest.raises(ValueError, match="read-only"):
        received[0] += 1
    assert received.tolist() == numbers


@given(ARRAYS, st.integers(0, 5))
def test_a_row_that_stands_for_all_travels_like_as_many_rows(array, rows):
    """What was made by broadcasting cannot be told from what was written out."""
    row = array[:1] if array.ndim == 2 else array[:1, np.newaxis]
    if not len(row):
        return
    spread = np.broadcast_to(row, (rows, row.shape[1]))
    assert packing.pack_numbers(spread) == packing.pack_numbers(np.array(spread))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"kind": "O"}, id="objects"),
        pytest.param({"shape": [10**12]}, id="far too many"),
        pytest.param({"shape": [-1]}, id="less than none"),
        pytest.param({"shape": [2, 2, 2]}, id="three dimensions"),
        pytest.param({"shape": [3]}, id="another length"),
        pytest.param({"shape": [10**9, 0]}, id="very many empty rows"),
        pytest.param({"shape": [packing.ROWS_MAX + 1]}, id="too many rows"),
        pytest.param({"shape": [10**6, 11]}, id="too many numbers"),
        pytest.param({"shape": [2.0]}, id="part of a row"),
        pytest.param({"shape": "2"}, id="no shape"),
        pytest.param({"columns": []}, id="no column"),
        pytest.param({"columns": [{"all": 1}] * 2}, id="a column too many"),
    ],
)
def test_forged_arrays_are_refused(change):
    """Neither NumPy's object loader nor the memory is within reach of a message."""
    packed = packing.pack_numbers(np.array([900, 5]))
    with pytest.raises(ValueError, match=r"."):
        packing.unpack_numbers({**packed, **change})


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"width": 3}, id="a width there is not"),
        pytest.param({"shift": 64}, id="shifted away"),
        pytest.param({"raw": "AAAA"}, id="too few bytes"),
        pytest.param({"raw": "!!!!"}, id="no base64"),
    ],
)
def test_forged_columns_are_refused(change):
    """What a column says about itself has to fit what it brings."""
    packed = packing.pack_numbers(np.array([5, 900, 7]))
    packed["columns"][0].update(change)
    with pytest.raises(ValueError, match=r"."):
        packing.unpack_numbers(packed)


def test_a_bomb_is_not_blown_up():
    """A small message that would become a large column is refused by its announced size."""
    packed = packing.pack_numbers(np.arange(100_000) % 5 % 3)
    assert "deflated" in packed["columns"][0]
    with pytest.raises(ValueError, match="instead of"):
        packing.unpack_numbers({**packed, "shape": [1000]})


def deflated(size):
    return base64.b64encode(zlib.compress(bytes(size), 9)).decode()


UUID_BOMBS = {
    "compressed": {"count": 1_000_000, "deflated": deflated(16_000_000)},
    "compressed and more than allowed": {"count": 2_000_000, "deflated": deflated(32_000_000)},
    "announced only": {"count": 10**12, "raw": ""},
    "a number below zero": {"count": -1, "raw": ""},
    "a number that is a text": {"count": "x" * 1000, "raw": ""},
    "texts that are a number": {"texts": range(10**9)},
}


@pytest.mark.parametrize("bomb", UUID_BOMBS)
def test_no_bomb_becomes_uuids(bomb):
    """Some 40 kB that would take half a GB are refused before anything is made of them."""
    tracemalloc.start()
    try:
        with pytest.raises((ValueError, KeyError)):
            packing.unpack_uuids(UUID_BOMBS[bomb])
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


COLUMN_BOMBS = {
    "steps": {"first": 0, "steps": {"all": 1}},
    "zeros": {"least": 0, "shift": 0, "width": 8, "deflated": deflated(8_000_000)},
}


@pytest.mark.parametrize("column", COLUMN_BOMBS)
def test_no_bomb_becomes_columns(column):
    """However small its columns are on the wire, an array has a largest size."""
    columns = [COLUMN_BOMBS[column]] * 1000
    with pytest.raises(ValueError, match="at most"):
        packing.unpack_numbers({"kind": "i", "shape": [1_000_000, 1000], "columns": columns})


@given(st.lists(st.uuids().map(str)))
def test_uuids_come_out_as_they_went_in(uuids):
    """Order and number survive."""
    assert packing.unpack_uuids(json.loads(json.dumps(packing.pack_uuids(uuids)))) == uuids


def test_a_uuid_takes_sixteen_bytes():
    """And a third more, because it is carried in a text."""
    uuids = [f"{number:08x}-0000-4000-8000-0123456789ab" for number in range(1000)]
    assert wire_size(packing.pack_uuids(uuids)) < 22_000


LOOKS_LIKE = "0123456-789ab-4cde-8f01-23456789abcd"


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(["host1", ""], id="names"),
        pytest.param(["6F9619FF-8B86-D011-B42D-00CF4FC964FF"], id="capitals"),
        pytest.param(["6f9619ff8b86d011b42d00cf4fc964ff"], id="no dashes"),
        pytest.param(["6f9619ff-8b86-d011-b42d-00cf4fc964fg"], id="not hexadecimal"),
        pytest.param(["6f9619ff-8b86-d011-b42d-00cf4fc96 ff"], id="a blank inside"),
        pytest.param(["6f9619ff-8b86-d011-b42d-00cf4fc964f", "f" + LOOKS_LIKE], id="shifted"),
    ],
)
def test_texts_that_are_not_uuids_come_out_as_they_went_in(texts):
    """Nothing is normalised: a client compares texts."""
    assert packing.unpack_uuids(json.loads(json.dumps(packing.pack_uuids(texts)))) == texts
    assert packing.words_of(texts).shape == (len(texts), 2)


def test_words_are_the_halves_of_a_uuid():
    """In the order in which they are written, also beside a text that is none."""
    uuid = "00000000-0000-0001-8000-000000000002"
    assert packing.words_of([uuid]).tolist() == [[1, 2**63 + 2]]
    assert packing.words_of([uuid, "x"])[0].tolist() == [1, 2**63 + 2]
