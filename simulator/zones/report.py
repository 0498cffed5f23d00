"""Text report of a simulation with zones: one column per policy."""

from collections.abc import Callable, Iterator, Sequence

from armillary.table_columns import printable
from simulator.results.report import line_of, reasons_of, table_of
from simulator.scenario.scenario import Scenario
from simulator.zones.outcome import ZonesOutcome

_Row = tuple[str, Callable[[ZonesOutcome], str]]


def text_of(scenario: Scenario, outcomes: Sequence[ZonesOutcome]) -> str:
    first = outcomes[0]
    head = (
        f"{scenario.title}: {first.zones:,} zones in {first.levels} levels, "
        f"{first.zones_with_hosts:,} of them with {first.hosts:,} hosts together, "
        f"{first.counts['requests']:,} requests for {first.counts['requested']:,} instances, "
        f"seed {scenario.seed}"
    )
    parts = [printable(head), "", *_table(outcomes)]
    for outcome in outcomes:
        of = f" under {printable(outcome.policy)}" if len(outcomes) > 1 else ""
        parts += ["", *_of_flavors(outcome, of), "", *reasons_of(outcome.refusals.ranked(), of)]
    return "\n".join(parts) + "\n"


def _table(outcomes: Sequence[ZonesOutcome]) -> Iterator[str]:
    sections = [
        (title, [[label, *(show(outcome) for outcome in outcomes)] for label, show in rows])
        for title, rows in (*_SECTIONS, *([_FLAT] if outcomes[0].flat is not None else []))
    ]
    return table_of(["", *(printable(outcome.policy) for outcome in outcomes)], sections)


def _count(name: str) -> _Row:
    return name, lambda outcome: f"{outcome.counts[name]:,}"


def _outcome(name: str, label: str) -> _Row:
    def mean(outcome: ZonesOutcome) -> str:
        requests = len(outcome.asked.messages.values) or 1
        return f"{outcome.outcomes[name] / requests:,.1f}"

    return label, mean


def _of_flavors(outcome: ZonesOutcome, of: str) -> Iterator[str]:
    """Yield a line per flavor: they differ in which zones can serve them."""
    yield f"Between zones, a request{of}; medians"
    head = (
        "flavor", "requests", "zones asked", "not reached", "messages", "bytes",
        "ms, in turn", "ms, in parallel",
    )  # fmt: skip
    rows: list[Sequence[str]] = [head]
    for name, asked in sorted(outcome.by_flavor.items()):
        series = (asked.zones_asked, asked.zones_not_reached, asked.messages, asked.bytes)
        rows.append(
            (
                printable(name),
                f"{len(asked.messages.values):,}",
                *(f"{each.to_plain()['p50']:,.0f}" for each in series),
                f"{asked.wall_ms.to_plain()['p50']:,.1f}",
                f"{asked.critical_ms.to_plain()['p50']:,.1f}",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    yield from (line_of(row, widths) for row in rows)
    yield (
        "  in turn: zones one after the other, as here; in parallel: as in a deployment, without "
        "network"
    )


def _flat(label: str, name: str, form: str) -> _Row:
    return label, lambda outcome: format(getattr(outcome.flat, name, 0.0), form)


_SECTIONS: list[tuple[str, list[_Row]]] = [
    (
        "Instances",
        [_count(name) for name in ("requested", "accepted", "refused", "failed", "retries")],
    ),
    (
        "Between zones",
        [
            _outcome("asked", "zones asked, mean"),
            _outcome("pruned", "zones ruled out by their summary, mean"),
            ("messages, mean", lambda o: f"{o.asked.messages.to_plain()['mean']:,.1f}"),
            ("largest answer, entries", lambda o: f"{o.entries_max:,}"),
            ("largest answer, bytes", lambda o: f"{o.answer_bytes_max:,}"),
        ],
    ),
    (
        "Summaries, per push period",
        [
            ("bytes of all", lambda o: f"{o.summary_bytes.to_plain()['mean']:,.0f}"),
            ("largest, bytes", lambda o: f"{o.summary_bytes_max:,}"),
            ("ms to create all", lambda o: f"{o.round_ms.to_plain()['mean']:,.0f}"),
        ],
    ),
]

_FLAT: tuple[str, list[_Row]] = (
    "Compared with one flat scheduler with all hosts",
    [
        _flat("requests", "requests", ",.0f"),
        _flat("only one of the two found a host", "disagreed", ",.0f"),
        _flat("first host as good as the flat one's", "same_first", ".1%"),
        _flat("entries among the flat one's best", "entries_among_best", ".1%"),
        _flat("weight lost by the first, mean", "loss_mean", ".3%"),
        _flat("weight lost by the first, maximum", "loss_max", ".3%"),
    ],
)
