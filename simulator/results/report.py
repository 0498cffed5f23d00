"""Text report of a simulation: a table with one column per policy."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from armillary.table_columns import printable
from simulator.results.outcome import Outcome
from simulator.results.refusals import Refusal
from simulator.scenario.scenario import Scenario

WIDTH = 100
REASONS_SHOWN = 8

Figure = Callable[[Outcome], float]


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    values: Sequence[float]
    show: Callable[[float], str]

    def cells(self) -> list[str]:
        cells = [self.label, *map(self.show, self.values)]
        if len(self.values) == 2:
            cells.append(_signed(self.show(self.values[1] - self.values[0])))
        return cells


def _signed(difference: str) -> str:
    """Return a formatted difference with its sign; one that rounds to zero has none."""
    if not difference.strip("-+0.,% "):
        return difference.removeprefix("-")
    return difference if difference.startswith("-") else f"+{difference}"


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _percent(value: float) -> str:
    return f"{value * 100:.1f} %"


def _decimal(value: float) -> str:
    return f"{value:,.3f}"


def _rate(value: float) -> str:
    return f"{value:,.1f}"


def text_of(scenario: Scenario, outcomes: Sequence[Outcome]) -> str:
    first = outcomes[0]
    head = (
        f"{scenario.title}: {scenario.hosts_total:,} hosts, "
        f"{first.counts['requests']:,} requests for {first.counts['requested']:,} instances in "
        f"{scenario.duration_seconds:,.0f} simulated seconds, seed {scenario.seed}"
    )
    parts = [printable(head), "", *_table(outcomes)]
    for outcome in outcomes:
        of = f" under {printable(outcome.policy)}" if len(outcomes) > 1 else ""
        parts += ["", *reasons_of(outcome.refusals, of)]
    return "\n".join(parts) + "\n"


def _table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    header = ["", *(printable(outcome.policy) for outcome in outcomes)]
    if len(outcomes) == 2:
        header.append("difference")
    sections = [(title, [row.cells() for row in rows]) for title, rows in _sections(outcomes)]
    return table_of(header, sections)


def table_of(
    header: Sequence[str], sections: Sequence[tuple[str, Sequence[Sequence[str]]]]
) -> Iterator[str]:
    """Yield the lines of a table: titled sections of rows, each with a label and its values."""
    rows = [header, *(row for _title, section in sections for row in section)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    yield line_of(header, widths)
    for title, section in sections:
        yield title
        for row in section:
            yield line_of(row, widths)


def line_of(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return a line of a table: the label to the left, values to the right."""
    label, *values = cells
    shown = [value.rjust(width) for value, width in zip(values, widths[1:], strict=True)]
    return "  ".join([f"  {label.ljust(widths[0])}", *shown]).rstrip()


def _sections(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, list[_Row]]]:
    def row(label: str, figure: Figure, show: Callable[[float], str]) -> _Row:
        return _Row(label, [figure(outcome) for outcome in outcomes], show)

    def counts(*names: str) -> list[_Row]:
        return [
            row(name.replace("_", " "), lambda outcome, n=name: outcome.counts[n], _whole)  # type: ignore[misc]
            for name in names
        ]

    yield "Instances", counts(
        "requested", "accepted", "refused", "failed", "building", "running", "ended", "lost",
        "retries", "hosts_refused",
    )  # fmt: skip
    utilisation = [
        row(f"{name} {when}", lambda o, n=name, w=when: o.utilisation[n][w], _percent)  # type: ignore[misc]
        for name in outcomes[0].utilisation
        for when in ("mean", "peak", "end")
    ]
    yield "Utilisation, of the capacity", utilisation
    yield "Distribution over hosts", list(_layout(outcomes, row))
    yield (
        "Decisions, in real time",
        [
            row("decided", lambda outcome: outcome.decisions["count"], _whole),
            row("per second", lambda outcome: outcome.decisions["per_second"], _rate),
            row("median ms", lambda outcome: outcome.decisions["p50_ms"], _decimal),
            row("99th percentile ms", lambda outcome: outcome.decisions["p99_ms"], _decimal),
        ],
    )


def _layout(
    outcomes: Sequence[Outcome], row: Callable[[str, Figure, Callable[[float], str]], _Row]
) -> Iterator[_Row]:
    for name in outcomes[0].measures:
        show = _decimal
        if name.startswith("fragmentation "):
            show = _percent
        elif name == "empty_hosts":
            show = _rate
        for when in ("mean", "end"):
            label = f"{name.replace('_', ' ')}, {when}"
            yield row(label, lambda o, n=name, w=when: o.measures[n][w], show)  # type: ignore[misc]


def reasons_of(refusals: Sequence[Refusal], of: str) -> Iterator[str]:
    """Yield the lines with the reasons for refused requests; ``of`` names the policy, if needed."""
    if not refusals:
        yield f"No instance was refused{of}."
        return
    yield f"Why instances got no host{of}:"
    width = len(_whole(refusals[0].count))
    for entry in refusals[:REASONS_SHOWN]:
        yield from _reason(entry, width)
    rest = sum(entry.count for entry in refusals[REASONS_SHOWN:])
    if rest:
        yield f"  {_whole(rest).rjust(width)}  other reasons (all of them: --json)"


def _reason(entry: Refusal, width: int) -> Iterator[str]:
    yield f"  {_whole(entry.count).rjust(width)}  {printable(entry.reason)}"
    if entry.example:
        indent = " " * (width + 6)
        yield from textwrap.wrap(
            printable(entry.example), WIDTH, initial_indent=indent, subsequent_indent=indent
        )
