"""Compact encoding of numbers and UUIDs: columns of ten thousand rows on the wire.

A broker needs more time for larger messages, far more than packing takes. A column mostly has one
value, or whole numbers in a narrow range. It is encoded as its first or least number and the
offsets of all rows from that, in the narrowest type that holds them.
"""

import base64
import binascii
import contextlib
import hashlib
import math
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Packed = dict[str, Any]
Words = NDArray[np.uint64]

ROWS_MAX = 1_000_000
"""Maximum number of rows of a column: as many providers as a client caches."""
CELLS_MAX = 10_000_000
"""Maximum number of elements in one array, 80 MB; a few bytes on the wire may expand to them."""

_KINDS = {"i": np.dtype("<i8"), "f": np.dtype("<f8"), "b": np.dtype("?")}
_WIDTHS = (1, 2, 4, 8)
_UUID_CHARACTERS = 36
_UUID_DASHES = (8, 13, 18, 23)
_UUID_PARTS = ((0, 8, 0), (8, 12, 9), (12, 16, 14), (16, 20, 19), (20, 32, 24))
"""Start and end of each part among 32 hexadecimal digits, and its start in the written form."""
_DEFLATE_FROM_BYTES = 2048
_DEFLATE_LEVEL = 1
_DEFLATE_SAMPLE_BYTES = 4096


def pack_numbers(array: NDArray[Any]) -> Packed:
    """Return the wire form of an array of int64, float64 or bool with one or two dimensions.

    For an array that repeats one row (``numpy.broadcast_to``) only that row is examined.
    """
    return {
        "kind": array.dtype.kind,
        "shape": list(array.shape),
        "columns": _pack_columns(array) if array.size else [],
    }


def unpack_numbers(packed: Packed) -> NDArray[Any]:
    """Return the array, which is read-only: if all rows are equal they share memory.

    Raises ValueError for a malformed array.
    """
    with _refusing_other_forms():
        return _numbers_in(packed)


def _numbers_in(packed: Packed) -> NDArray[Any]:
    if packed["kind"] not in _KINDS:
        raise ValueError(f"not an array of numbers: {packed['kind']!r:.20}")
    shape = checked_shape(packed["shape"])
    rows, width = shape[0], shape[1] if len(shape) == 2 else 1
    columns, dtype = packed["columns"], _KINDS[packed["kind"]]
    if rows and len(columns) == width and all("all" in column for column in columns):
        return _one_for_all([column["all"] for column in columns], dtype, shape)
    made = np.empty((width, rows), dtype)
    if made.size:
        for column, target in zip(columns, made, strict=True):
            _unpack_into(target, column)
    made.flags.writeable = False
    return made.T if len(shape) == 2 else made[0]


@contextlib.contextmanager
def _refusing_other_forms() -> Iterator[None]:
    """Raise ValueError for parts that are missing or of another type, wherever that is found."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"a column is malformed: {error!r:.100}") from error


def checked_shape(shape: Any) -> list[int]:
    """Return the shape of a received array of one or two dimensions. Raises ValueError."""
    if not isinstance(shape, list) or len(shape) not in (1, 2):
        raise ValueError("an array must have one or two dimensions")
    if not all(type(length) is int and 0 <= length <= ROWS_MAX for length in shape):
        raise ValueError(f"an array must have at most {ROWS_MAX} rows, not {shape!r:.100}")
    if math.prod(shape) > CELLS_MAX:
        raise ValueError(
            f"the array has the shape {shape}; at most {CELLS_MAX} numbers are allowed"
        )
    return shape


def _one_for_all(numbers: list[int], dtype: np.dtype[Any], shape: list[int]) -> NDArray[Any]:
    row = np.array(numbers, np.int64)
    return np.broadcast_to(row.view(dtype) if dtype.kind == "f" else row.astype(dtype), shape)


def _pack_columns(array: NDArray[Any]) -> list[Packed]:
    if array.strides[0] == 0 or len(array) == 1:
        return [{"all": number} for number in _as_numbers(array[:1].ravel()).tolist()]
    return [_pack_column(column) for column in (array.T if array.ndim == 2 else array[np.newaxis])]


def _pack_column(column: NDArray[Any]) -> Packed:
    numbers = _as_numbers(column)
    if not _are_alike(numbers):
        steps = np.diff(numbers)
        if steps.min() > 0:  # ids in ascending order
            return {"first": int(numbers[0]), "steps": _pack_plain(steps)}
    return _pack_plain(numbers)


def _unpack_into(target: NDArray[Any], packed: Packed) -> None:
    rows, dtype = len(target), target.dtype
    if "all" in packed:
        number = np.int64(packed["all"])
        target[:] = number.view(dtype) if dtype.kind == "f" else number
        return
    if "steps" in packed:
        numbers = np.empty(rows, np.int64)
        numbers[0] = packed["first"]
        numbers[1:] = _unpack_plain(packed["steps"], rows - 1)
        np.cumsum(numbers, out=numbers)
    else:
        numbers = _unpack_offsets(packed, rows)
    target[:] = numbers.view(dtype) if dtype.kind == "f" else numbers


def _pack_plain(numbers: NDArray[np.int64]) -> Packed:
    return {"all": int(numbers[0])} if _are_alike(numbers) else _pack_offsets(numbers)


def _are_alike(numbers: NDArray[np.int64]) -> bool:
    return bool(numbers[0] == numbers[-1]) and bool((numbers == numbers[0]).all())


def _unpack_plain(packed: Packed, rows: int) -> NDArray[np.int64]:
    if "all" in packed:
        return np.full(rows, packed["all"], np.int64)
    return _unpack_offsets(packed, rows)


def _as_numbers(column: NDArray[Any]) -> NDArray[np.int64]:
    """Return a column as whole numbers; a float becomes its 64 bits.

    Common round ratios differ in few bits, so that they become small offsets, too.
    """
    if column.dtype.kind == "f":
        return np.ascontiguousarray(column, np.float64).view(np.int64)
    return np.ascontiguousarray(column, np.int64)


def _pack_offsets(numbers: NDArray[np.int64]) -> Packed:
    """Encode offsets from the least number, shifted right by their common zero bits."""
    least = numbers.min()
    offsets = numbers.view(np.uint64) - least.view(np.uint64)  # wraps around, as does decoding
    bits = int(np.bitwise_or.reduce(offsets))
    shift = (bits & -bits).bit_length() - 1 if bits else 0
    if shift:
        offsets >>= np.uint64(shift)
    packed: Packed = {"least": int(least), "shift": shift}
    if bits >> shift <= 1:
        return {**packed, "width": 0, **_pack_bytes(np.packbits(offsets.astype(np.bool_)))}
    width = next(width for width in _WIDTHS if bits >> shift < 1 << 8 * width)
    return {**packed, "width": width, **_pack_bytes(offsets.astype(f"<u{width}"))}


def _unpack_offsets(packed: Packed, rows: int) -> NDArray[np.int64]:
    width, shift = packed["width"], packed["shift"]
    if width not in (0, *_WIDTHS) or not 0 <= shift < 64:
        raise ValueError(f"unsupported width of {width!r} bytes or shift of {shift!r} bits")
    raw = _unpack_bytes(packed, rows * width if width else (rows + 7) // 8)
    if width:
        offsets = np.frombuffer(raw, f"<u{width}").astype(np.uint64)
    else:
        offsets = np.unpackbits(np.frombuffer(raw, np.uint8), count=rows).astype(np.uint64)
    if shift:
        offsets <<= np.uint64(shift)
    offsets += np.int64(packed["least"]).view(np.uint64)
    return offsets.view(np.int64)


def _pack_bytes(array: NDArray[Any]) -> Packed:
    raw = array.tobytes()
    if len(raw) >= _DEFLATE_FROM_BYTES and _deflates(raw[:_DEFLATE_SAMPLE_BYTES]):
        deflated = zlib.compress(raw, _DEFLATE_LEVEL)
        return {"deflated": base64.b64encode(deflated).decode("ascii")}
    return {"raw": base64.b64encode(raw).decode("ascii")}


def _deflates(sample: bytes) -> bool:
    """Return whether compressing a column pays off.

    Compressing and decompressing 20 kB to 14 kB takes twice as long as a broker needs for the 8 kB
    of text saved. At half the size it takes as long, and below that less.
    """
    return len(zlib.compress(sample, _DEFLATE_LEVEL)) < len(sample) // 2


def _unpack_bytes(packed: Packed, size: int) -> bytes:
    if "deflated" not in packed:
        return _unpack_raw(packed, size)
    # Read at most one byte too many: enough to detect a wrong size, and safe from bombs.
    deflated = binascii.a2b_base64(packed["deflated"], strict_mode=True)
    try:
        return _of_size(zlib.decompressobj().decompress(deflated, size + 1), size)
    except zlib.error as error:
        raise ValueError("a column cannot be decompressed") from error


def _unpack_raw(packed: Packed, size: int) -> bytes:
    return _of_size(binascii.a2b_base64(packed["raw"], strict_mode=True), size)


def _of_size(raw: bytes, size: int) -> bytes:
    if len(raw) != size:
        raise ValueError(f"a column has at least {len(raw)} bytes instead of {size}")
    return raw


def pack_uuids(uuids: Sequence[str]) -> Packed:
    """Return the wire form of strings that usually are UUIDs; others are sent unchanged."""
    raw = _bytes_of(uuids)
    if raw is None:
        return {"texts": list(uuids)}
    return {"count": len(uuids), "raw": base64.b64encode(raw).decode("ascii")}


def unpack_uuids(packed: Packed) -> list[str]:
    """Return the strings. Raises ValueError if their number is wrong, or beyond ``ROWS_MAX``.

    They are never compressed, so that a message cannot become more than a few times as large.
    """
    with _refusing_other_forms():
        return _uuids_in(packed)


def _uuids_in(packed: Packed) -> list[str]:
    texts = packed.get("texts")
    if texts is not None:
        _check_count(len(texts))
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("a column of UUIDs must contain texts")
        return list(texts)
    count = packed["count"]
    _check_count(count)
    return _written(_unpack_raw(packed, 16 * count), count)


def _check_count(count: Any) -> None:
    if type(count) is not int or not 0 <= count <= ROWS_MAX:
        raise ValueError(f"a column must have 0 to {ROWS_MAX} rows, not {count!r:.40}")


def words_of(uuids: Sequence[str]) -> Words:
    """Return the two 64-bit halves of each UUID, in the shape (n, 2)."""
    raw = _bytes_of(uuids)
    if raw is None:
        raw = b"".join(map(_bytes_of_one, uuids))
    return np.frombuffer(raw, ">u8").reshape(-1, 2).astype(np.uint64)


def _bytes_of(uuids: Sequence[str]) -> bytes | None:
    """Return 16 bytes per UUID, or None if a string is not in the usual form."""
    text = "".join(uuids)
    if len(text) != _UUID_CHARACTERS * len(uuids) or not text.isascii() or text.lower() != text:
        return None
    letters = np.frombuffer(text.encode("ascii"), np.uint8).reshape(-1, _UUID_CHARACTERS)
    if not (letters[:, _UUID_DASHES] == ord("-")).all() or set(map(len, uuids)) - {36}:
        return None
    try:
        raw = bytes.fromhex(text.replace("-", ""))
    except ValueError:
        return None
    return raw if len(raw) == 16 * len(uuids) else None


def _bytes_of_one(text: str) -> bytes:
    return _bytes_of([text]) or hashlib.blake2b(text.encode(), digest_size=16).digest()


def _written(raw: bytes, count: int) -> list[str]:
    if not count:
        return []
    digits = np.frombuffer(raw.hex().encode("ascii"), np.uint8).reshape(count, 32)
    lines = np.full((count, _UUID_CHARACTERS + 1), ord("-"), np.uint8)
    for begin, end, place in _UUID_PARTS:
        lines[:, place : place + end - begin] = digits[:, begin:end]
    lines[:, -1] = ord("\n")
    return lines.tobytes().decode("ascii").split("\n")[:-1]
