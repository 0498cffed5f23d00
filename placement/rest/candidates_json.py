"""JSON of allocation candidates, written column by column: a response may have ten thousand.

Equal items share one template, whose gaps are filled for all of them in one pass. This avoids a
tree of dicts for output that is text anyway.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.http.microversion import Version
from placement.candidates.result import Batch, Found
from placement.providers import names
from placement.providers.columns import ClassColumns, Mask, Numbers, Rows
from placement.providers.provider_table import ProviderTable

_UUID_GAP = '"%s"'
_SIGNATURE_BITS = 32
PART_ITEMS = 2000
"""Number of items written at a time."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Shape:
    """Contents of the response for a microversion."""

    allocations_are_list: bool
    has_traits: bool
    has_all_classes: bool
    has_trees: bool
    has_mappings: bool

    @classmethod
    def of(cls, version: Version) -> Shape:
        """Return the shape of a microversion's responses."""
        return cls(
            allocations_are_list=version < (1, 12),
            has_traits=version >= (1, 17),
            has_all_classes=version >= (1, 27),
            has_trees=version >= (1, 29),
            has_mappings=version >= (1, 34),
        )


@dataclass(frozen=True, slots=True)
class Lines:
    """Equal items: the pieces of their text, and the values between the pieces, item by item."""

    pieces: list[str]
    gaps: list[list[str]]

    @classmethod
    def of(cls, template: str, gaps: list[list[str]]) -> Lines:
        """Return the items of a text that has ``%s`` for each gap."""
        return cls(template.split("%s"), gaps)

    def __len__(self) -> int:
        return len(self.gaps[0])

    def text(self, start: int, stop: int) -> str:
        """Return some of the items, each followed by a comma."""
        *pieces, last = self.pieces
        width = 2 * len(pieces)
        count = stop - start
        parts = [""] * (width * count)
        for index, (piece, gap) in enumerate(zip(pieces, self.gaps, strict=True)):
            before = piece if index else f"{last}, {piece}"
            parts[2 * index :: width] = [before] * count
            parts[2 * index + 1 :: width] = gap[start:stop]
        parts[0] = pieces[0]
        return f"{''.join(parts)}{last}, "


@dataclass(frozen=True, slots=True)
class ResponseData:
    """All data of a response, copied from the provider table."""

    requests: list[Lines]
    summaries: list[Lines]

    def to_json(self) -> bytes:
        """Return the response; this is most of the work, and needs no lock on the table."""
        return b"".join(self.parts())

    def is_long(self) -> bool:
        """Return whether the response should be streamed before it is complete."""
        return sum(map(len, self.requests)) > PART_ITEMS

    def parts(self) -> Iterator[bytes]:
        """Yield the response in parts of some hundred kilobytes."""
        yield b'{"allocation_requests": ['
        yield from _parts(self.requests)
        yield b'], "provider_summaries": {'
        yield from _parts(self.summaries)
        yield b"}}"


def collect(table: ProviderTable, found: Found, asked: Iterable[str], shape: Shape) -> ResponseData:
    """Copy the response from the table. ``asked`` are the resource classes of the query."""
    rows = _summarized(table, found.batches, shape)
    shown = table.resource_classes() if shape.has_all_classes else asked
    return ResponseData(
        [_requests(table, batch, shape) for batch in found.batches if len(batch)],
        list(_summaries(table, rows, shown, shape)),
    )


def _parts(items: Sequence[Lines]) -> Iterator[bytes]:
    """Yield the items, each except the last followed by a comma."""
    held = ""
    for lines in items:
        for start in range(0, len(lines), PART_ITEMS):
            if held:
                yield held.encode()
            held = lines.text(start, min(start + PART_ITEMS, len(lines)))
    yield held[:-2].encode()


# Allocation requests --------------------------------------------------------------------------


def _requests(table: ProviderTable, batch: Batch, shape: Shape) -> Lines:
    template, slots = _request_template(batch, shape)
    uuids = [table.uuids[column].tolist() for column in batch.providers.T]
    return Lines.of(template, [uuids[slot] for slot in slots])


def _request_template(batch: Batch, shape: Shape) -> tuple[str, list[int]]:
    """Return the text of one request with gaps for UUIDs, and the slots that fill them in turn."""
    taken = [(slot, giving) for slot, giving in enumerate(batch.resources) if giving]
    slots = [slot for slot, _ in taken]
    text = _allocations([giving for _, giving in taken], shape)
    if shape.has_mappings:
        text += f', "mappings": {{{_mappings(batch.mappings)}}}'
        slots += [slot for mapped in batch.mappings.values() for slot in mapped]
    return f"{{{text}}}", slots


def _allocations(resources: Sequence[Mapping[str, int]], shape: Shape) -> str:
    if shape.allocations_are_list:
        start, end, each = (
            "[",
            "]",
            '{{"resource_provider": {{"uuid": {uuid}}}, "resources": {taken}}}',
        )
    else:
        start, end, each = "{", "}", '{uuid}: {{"resources": {taken}}}'
    items = (each.format(uuid=_UUID_GAP, taken=json.dumps(dict(taken))) for taken in resources)
    return f'"allocations": {start}{", ".join(items)}{end}'


def _mappings(mappings: Mapping[str, Sequence[int]]) -> str:
    return ", ".join(
        f'"{suffix}": [{", ".join([_UUID_GAP] * len(slots))}]' for suffix, slots in mappings.items()
    )


# Provider summaries ---------------------------------------------------------------------------


def _summarized(table: ProviderTable, batches: Iterable[Batch], shape: Shape) -> Rows:
    """Return the providers of all requests; with trees, all providers of their trees."""
    is_in: Mask = np.zeros(table.size, np.bool_)
    for batch in batches:
        is_in[batch.providers.ravel()] = True
    if shape.has_trees:
        is_root: Mask = np.zeros(table.size, np.bool_)
        is_root[table.root_rows[is_in]] = True
        is_in = table.is_there & is_root[table.root_rows]
    return np.flatnonzero(is_in)


def _summaries(
    table: ProviderTable, rows: Rows, shown: Iterable[str], shape: Shape
) -> Iterator[Lines]:
    """Yield the summaries, grouped by providers with equal classes."""
    classes = [(name, table.columns_of(name)) for name in shown]
    classes = [(name, columns) for name, columns in classes if columns.total[rows].any()]
    for alike, present in _by_classes(rows, classes):
        yield _summary_lines(table, alike, present, shape)


def _by_classes(
    rows: Rows, classes: Sequence[tuple[str, ClassColumns]]
) -> Iterator[tuple[Rows, list[tuple[str, ClassColumns]]]]:
    """Yield rows that have inventories of the same classes, with these classes."""
    signature: Numbers = np.zeros(len(rows), np.int64)
    for index, (_, columns) in enumerate(classes):
        if index % _SIGNATURE_BITS == _SIGNATURE_BITS - 1:  # no bits left: renumber
            signature = np.unique(signature, return_inverse=True)[1].astype(np.int64)
        signature = signature * 2 + (columns.total[rows] > 0)
    for value in np.unique(signature).tolist():
        alike = rows[signature == value]
        yield alike, [item for item in classes if item[1].total[alike[0]] > 0]


def _summary_lines(
    table: ProviderTable, rows: Rows, classes: Sequence[tuple[str, ClassColumns]], shape: Shape
) -> Lines:
    text = f"{_UUID_GAP}: {{%s"
    gaps = [table.uuids[rows].tolist(), _figures(table, rows, classes, shape)]
    if shape.has_trees:
        parents = table.parent_rows[rows]
        if (parents < 0).all():
            text += ', "parent_provider_uuid": null'
        else:
            text += ', "parent_provider_uuid": %s'
            gaps.append(_parents(table, parents))
        text += f', "root_provider_uuid": {_UUID_GAP}'
        gaps.append(table.uuids[table.root_rows[rows]].tolist())
    return Lines.of(f"{text}}}", gaps)


def _figures(
    table: ProviderTable, rows: Rows, classes: Sequence[tuple[str, ClassColumns]], shape: Shape
) -> list[str]:
    """Return the amounts and traits of summaries, formatted once for equal rows.

    Hosts have few shapes, and their usage is a sum of few flavors.
    """
    columns = [
        column[rows] for _, found in classes for column in (found.capacity, found.used)
    ]  # fmt: skip
    sets = table.trait_sets_of(rows).astype(np.int64)
    firsts, kinds = _kinds([*columns, sets] if shape.has_traits else columns, len(rows))
    gaps = [column[firsts].tolist() for column in columns]
    amounts = ", ".join(f'"{name}": {{"capacity": %s, "used": %s}}' for name, _ in classes)
    text = f'"resources": {{{amounts}}}'
    if shape.has_traits:
        text += ', "traits": %s'
        gaps.append(_traits(table, sets[firsts].tolist()))
    texts = np.empty(len(firsts), object)
    texts[:] = [text % values for values in zip(*gaps, strict=True)] or [text] * len(firsts)
    found_texts: list[str] = texts[kinds].tolist()
    return found_texts


def _kinds(columns: Sequence[Numbers], count: int) -> tuple[Rows, Rows]:
    """Return the position of one row of each kind, and the kind of each row.

    Rows are of the same kind if all columns are equal.
    """
    mixed = np.zeros(count, np.uint64)
    for column in columns:
        mixed = mixed * _MULTIPLIER + column.astype(np.int64).view(np.uint64)
    _values, firsts, kinds = np.unique(mixed, return_index=True, return_inverse=True)
    if all(np.array_equal(column, column[firsts][kinds]) for column in columns):
        return firsts, kinds
    return np.arange(count), np.arange(count)  # hash collision of two kinds


def _traits(table: ProviderTable, numbers: Sequence[int]) -> list[str]:
    """Return trait sets as text, formatted once each; standard traits first."""
    texts = {
        number: json.dumps(sorted(table.trait_set(number), key=names.is_custom))
        for number in set(numbers)
    }
    return [texts[number] for number in numbers]


def _parents(table: ProviderTable, parents: Rows) -> list[str]:
    uuids = table.uuids[parents].tolist()
    return [
        "null" if parent < 0 else f'"{uuid}"'
        for parent, uuid in zip(parents.tolist(), uuids, strict=True)
    ]
