"""Decision traces as text for one screen: rejected hosts, reasons and weights."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from armillary.table_columns import printable
from objects.traces.ruled_out import rule_text
from programs.display.text_table import screen_width
from programs.http_client import Document

UNKNOWN_HOST = "a host"
UNKNOWN_ZONE = "a zone"
"""Words for names that the caller may not see."""

INDENT = "  "

OUTCOMES = {
    "own": "own hosts fit",
    "none": "no own host fits",
    "asked": "hosts offered, the best of this zone and the zones below it",
    "pruned": "not asked: nothing below it fits the request",
    "late": "did not answer in time",
    "failed": "could not be asked",
    "stale": "not asked: its summary is stale",
    "offline": "not asked: it has sent no summary",
    "disabled": "not asked: it is disabled",
    "cycle": "asked already, through another zone",
}
"""Text for each outcome of a zone in a decision."""
ANSWERED = ("own", "asked")

_ROWS_MAX = 6
_HOST_WIDTH = 11
_WEIGHER_WIDTH = 20
_WEIGHER = "Weigher"


def lines_of(
    trace: Document, host_now: str | None, *, choices_max: int = 1, noun: str = "host"
) -> Iterator[str]:
    """Yield the lines of a trace; ``host_now`` is the current host of the server, if known.

    ``noun`` is what was chosen among: hosts, or pools.
    """
    yield from _section("Zones:", _zones(trace))
    if trace["hosts_total"] or not (trace.get("zones") or trace.get("sentence")):
        yield from _section(_hosts_title(trace, noun), _ruled_out(trace))
    yield from _section("Nearest misses:", nearest_misses(trace))
    yield from _section("Known from a snapshot:", map(printable, trace.get("old_states", [])))
    yield from _section("Without effect:", map(printable, trace.get("notes", [])))
    if trace["filters"]:
        yield from _section(_filters_title(trace), _filters(trace), sets_apart=False)
    for choice in trace["choices"][:choices_max]:
        yield from _section(_weights_title(choice, noun), _weights(choice, host_now))
        yield from _section("Claims refused by placement:", _conflicts(choice), sets_apart=False)
    yield from _timings(trace)


def aligned(rows: Sequence[Sequence[str]], right: Iterable[int]) -> Iterator[str]:
    """Yield rows as lines with aligned columns; those in ``right`` are right-aligned."""
    to_the_right = set(right)
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (
            cell.rjust(width) if number in to_the_right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(padded).rstrip()


def fitted(lines: Iterable[str], indent: str = "") -> Iterator[str]:
    """Yield lines, indented; those wider than the screen are continued below, further in."""
    width = screen_width()
    for line in lines:
        start = indent + line[: len(line) - len(line.lstrip())]
        if len(indent) + len(line) <= width:
            yield f"{indent}{line}"
        else:
            yield from textwrap.wrap(
                line.lstrip(), width, initial_indent=start,
                subsequent_indent=f"{start}{INDENT * 2}", break_on_hyphens=False,
            )  # fmt: skip


def cut(line: str, indent: str = "") -> str:
    """Return a line of less importance, cut to the width of the screen."""
    width = screen_width() - len(indent)
    return line if len(line) <= width else f"{line[: width - 1]}…"


def nearest_misses(trace: Document) -> Iterator[str]:
    for miss in trace.get("nearest", []):
        part = f" for part {miss['suffix']}" if miss["suffix"] else ""
        lacks = ", ".join(_lack(each) for each in miss["lacks"])
        yield f"{printable(miss['host'] or UNKNOWN_HOST)} lacks{part}: {lacks}"


def _section(title: str, lines: Iterable[str], *, sets_apart: bool = True) -> Iterator[str]:
    """Yield a titled section; nothing if its title announces lines but there are none."""
    body = list(lines)
    if not body and title.endswith(":"):
        return
    if sets_apart:
        yield ""
    yield from fitted([title])
    yield from fitted(body[: _lines_max(body)], INDENT)
    if len(body) > _lines_max(body):
        yield f"{INDENT}… and {len(body) - _lines_max(body)} more: use -f json to see all"


def _lines_max(body: Sequence[str]) -> int:
    return 2 * _ROWS_MAX if len(body) <= 2 * _ROWS_MAX else 2 * _ROWS_MAX - 1


# Zones --------------------------------------------------------------------------------------------


def _zones(trace: Document) -> Iterator[str]:
    """Yield a line per considered zone: what it offered, or why it was not asked."""
    rows = [_zone_row(zone) for zone in trace.get("zones", [])]
    if rows:
        yield from aligned(rows, right=(1,))


def _zone_row(zone: Document) -> tuple[str, str, str]:
    path = zone["path"]
    where = UNKNOWN_ZONE if None in path else "/".join(path) or "this zone"
    is_answer = zone["outcome"] in ANSWERED
    hosts = f"{zone['hosts']:,}" if is_answer else ""
    took = f" ({zone['seconds'] * 1000:.1f} ms)" if zone.get("seconds") else ""
    is_empty = zone["outcome"] == "own" and not zone["hosts"]
    words = OUTCOMES.get("none" if is_empty else zone["outcome"], zone["outcome"])
    reason = f": {zone['reason']}" if zone.get("reason") else ""
    return printable(where), hosts, printable(f"{words}{took}{reason}")


# Placement ----------------------------------------------------------------------------------------


def _hosts_title(trace: Document, noun: str) -> str:
    total, fit = trace["hosts_total"], trace["candidates"]
    hosts = noun if total == 1 else f"{noun}s"
    if not total:
        return f"There are no {noun}s."
    if not trace["ruled_out"] and not trace["unknown"] and fit == total:
        return f"{total:,} of {total:,} {hosts} with resources {_fit(fit)}."
    if not fit:
        return (
            f"The only {noun} does not fit:"
            if total == 1
            else f"None of the {total:,} {hosts} fits:"
        )
    return f"{fit:,} of {total:,} {hosts} with resources {_fit(fit)}; of the others:"


def _fit(count: int) -> str:
    return "fits" if count == 1 else "fit"


def _ruled_out(trace: Document) -> Iterator[str]:
    rows = [
        (f"{rule['count']:,}", printable(rule_text(rule, {})[rule["count"] != 1]))
        for rule in trace["ruled_out"]
    ]
    if unknown := trace["unknown"]:
        are = "is" if unknown == 1 else "are"
        rows.append((f"{unknown:,}", f"{_fit(unknown)}, but {are} not known to the scheduler yet"))
    if rows:
        yield from aligned(rows, right=(0,))


def _lack(lack: Document) -> str:
    if "short" in lack:
        return printable(f"{lack['short']:,} of {lack['name']} ({lack['free']:,} free)")
    if "rule" in lack:
        return printable(f"{lack['name']} ({lack['rule']} is {lack['free']:,})")
    return printable(str(lack["name"]))


# Filters ------------------------------------------------------------------------------------------


def _filters_title(trace: Document) -> str:
    entries = trace["filters"]
    before = entries[0]["before"]
    left = before - sum(entry["removed"] for entry in entries)
    if left == before:
        names = ", ".join(entry["name"] for entry in entries)
        return f"Filters passed {'1 of 1' if before == 1 else f'all {before:,}'}: {names}."
    return f"Filters passed {left:,} of {before:,}; rejected:"


def _filters(trace: Document) -> Iterator[str]:
    rows = [row for entry in trace["filters"] if entry["removed"] for row in _filter_rows(entry)]
    if not rows:
        return
    yield from aligned(rows, right=(0,))
    idle = [entry["name"] for entry in trace["filters"] if not entry["removed"]]
    if idle:
        yield cut(f"none by {', '.join(idle)}", INDENT)


def _filter_rows(entry: Document) -> Iterator[tuple[str, str]]:
    """Yield a row per reason; one for all if the reasons of some hosts are unknown."""
    name, reasons = entry["name"], entry["reasons"]
    if reasons and sum(each["count"] for each in reasons) == entry["removed"]:
        for each in reasons:
            yield f"{each['count']:,}", f"{name}: {printable(each['reason'])}"
        return
    said = "; ".join(f"at least {each['count']:,}: {printable(each['reason'])}" for each in reasons)
    yield f"{entry['removed']:,}", f"{name}, {said}" if said else name


# Weights ------------------------------------------------------------------------------------------


def _weights_title(choice: Document, noun: str) -> str:
    if choice["shares"]:
        return f"Weights, with the contributions for the selected {noun}:"
    if choice["runners_up"]:
        return f"All {noun}s have the same weight."
    name = f", {printable(choice['host'])}" if choice.get("host") else ""
    return f"There was no choice: one {noun} was left{name}."


def _weights(choice: Document, host_now: str | None) -> Iterator[str]:
    """Yield the table of weights: of the selected host, and of as many others as fit beside it."""
    ranked = [choice, *choice["runners_up"]]
    lines = list(_weights_of(ranked, host_now))
    while len(ranked) > 1 and max(map(len, lines), default=0) > screen_width() - len(INDENT):
        ranked.pop()
        lines = list(_weights_of(ranked, host_now))
    yield from lines


def _weights_of(ranked: Sequence[Document], host_now: str | None) -> Iterator[str]:
    choice = ranked[0]
    weighers = [
        name
        for name in choice["shares"]
        if any(one["shares"].get(name, _NO_SHARE)["weight"] for one in ranked)
    ]
    if not choice["shares"]:
        return
    names = [_short(one["host"] or f"host {rank}") for rank, one in enumerate(ranked, 1)]
    rows = [("", "raw", "normalised", *names)]
    for weigher in weighers:
        share = choice["shares"][weigher]
        parts = (f"{one['shares'].get(weigher, _NO_SHARE)['weight']:.3f}" for one in ranked)
        rows.append(
            (
                weigher.removesuffix(_WEIGHER)[:_WEIGHER_WIDTH],
                _number(share["raw"], ",.10g"),
                _number(share["normalised"], ".3f"),
                *parts,
            )
        )
    rows.append(("total", "", "", *(f"{one['weight']:.3f}" for one in ranked)))
    marks = [_remark(one, choice, host_now) for one in ranked]
    rows.append(("", "", "", *marks))
    yield from aligned(rows, right=range(1, len(ranked) + 3))


_NO_SHARE = {"raw": None, "normalised": None, "weight": 0.0}


def _remark(one: Document, choice: Document, host_now: str | None) -> str:
    is_here = one["host"] is not None and one["host"] == host_now
    if one is not choice:
        return "current host" if is_here else ""
    return "chosen" if is_here or host_now is None else "selected"


def _short(host: str) -> str:
    """Return a host's name without its domain; of a long name, the distinctive end."""
    name = printable(host).partition(".")[0]
    return name if len(name) <= _HOST_WIDTH else f"…{name[1 - _HOST_WIDTH :]}"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _conflicts(choice: Document) -> Iterator[str]:
    for conflict in choice["conflicts"]:
        host = printable(conflict["host"] or UNKNOWN_HOST)
        yield f"{host}: {printable(conflict['reason'] or 'concurrent change')}"


def _timings(trace: Document) -> Iterator[str]:
    timings = dict(trace["timings_ms"])
    if not timings:
        return
    total = timings.pop("total", sum(timings.values()))
    longest = sorted(timings.items(), key=lambda stage: -stage[1])
    stages = ", ".join(f"{stage} {ms:.1f}" for stage, ms in longest)
    yield ""
    yield cut(f"Time: {total:.1f} ms{': ' if stages else ''}{stages}")
