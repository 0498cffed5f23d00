"""An explanation in words: from the API's document to lines of text, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from armillary.cli.commands.columns import printable
from armillary.cli.http_client import Document

UNKNOWN_HOST = "(hidden)"
"""Stands for a host whose name the caller may not see."""

INDENT = "  "

RULED_OUT = {
    "resource": "lack {name}: {asked:,} asked, {best:,} free at most",
    "trait": "lack the trait {name}",
    "forbidden_trait": "have the trait {name}, which is forbidden",
    "member_of": "are not in the aggregate {name}",
    "forbidden_aggregate": "are in the aggregate {name}, which is forbidden",
    "disabled": "are disabled",
    "request_filter": "were not asked for: {name}",
}


def text_of(explanation: Document) -> str:
    """Return the text of an explanation, as ``armillary explain`` prints it."""
    return "".join(f"{line}\n" for line in _lines(explanation))


def _lines(explanation: Document) -> Iterator[str]:
    trace = explanation["trace"]
    yield _headline(explanation)
    if trace and trace.get("sentence"):
        yield f"Why: {printable(trace['sentence'])}"
    yield from _section("Attempts:", _attempts(explanation))
    yield from _section("Faults:", _other_faults(explanation))
    if not trace:
        yield ""
        yield "How it was decided is not known, or not any more."
        return
    yield from _section(_hosts_title(trace), _hosts(trace))
    yield from _section("Filters, and how many hosts each left:", _filters(trace))
    for choice in trace["choices"]:
        title = "Weights, and the share of each weigher (the heaviest host is chosen):"
        yield from _section(title, _weights(choice, explanation["server"].get("host")))
        yield from _section("Claims that placement refused:", _conflicts(choice))
    yield from _section("Time:", _timings(trace))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield a titled part, or nothing when it has no lines."""
    body = list(lines)
    if body:
        yield ""
        yield title
        yield from (f"{INDENT}{line}" for line in body)


def _headline(explanation: Document) -> str:
    server = explanation["server"]
    name = printable(server["name"])
    attempts = len(explanation["attempts"])
    on_host = f" on {server['host']}" if server.get("host") else ""
    which = f", attempt {server['attempt']} of {max(attempts, server['attempt'])}"
    where = f"{on_host}{which if server['attempt'] else ''}"
    if server["status"] == "BUILD":
        return f"{name} ({server['id']}) is being built{where}."
    if server["status"] == "ERROR":
        faults = explanation["faults"]
        why = f": {printable(faults[-1]['message'])}" if faults else "."
        return f"{name} ({server['id']}) is in ERROR{why}"
    return f"{name} ({server['id']}) is {server['status']}{where}."


def _attempts(explanation: Document) -> Iterator[str]:
    details = {fault["attempt"]: fault.get("details") for fault in explanation["faults"]}
    for attempt in explanation["attempts"]:
        where = attempt.get("host") or UNKNOWN_HOST
        yield f"{attempt['attempt']}  {where}  {_outcome(attempt)}"
        yield from _detail_lines(details.get(attempt["attempt"]), attempt["reason"])


def _outcome(attempt: Document) -> str:
    if attempt["result"] == "Success":
        return "built"
    if attempt["result"] is None:
        return "under way"
    return f"failed: {printable(attempt['reason'] or 'no reason is known')}"


def _other_faults(explanation: Document) -> Iterator[str]:
    """Yield the faults that say more than the headline, the sentence and the attempts do."""
    shown = {attempt["attempt"] for attempt in explanation["attempts"]}
    sentence = (explanation["trace"] or {}).get("sentence")
    faults = explanation["faults"]
    for fault in faults:
        details = list(_detail_lines(fault.get("details"), sentence))
        if fault["attempt"] not in shown and (details or fault is not faults[-1]):
            yield printable(fault["message"])
            yield from details


def _detail_lines(details: str | None, said: str | None) -> Iterator[str]:
    """Yield what administrators see beyond what was said already."""
    if details and details != said:
        yield from (f"{INDENT}{line}" for line in printable(details).splitlines())


def _hosts_title(trace: Document) -> str:
    total = trace["hosts_total"]
    hosts = "host" if total == 1 else "hosts"
    return f"Placement knows {total:,} {hosts} with resources; of these:"


def _hosts(trace: Document) -> Iterator[str]:
    rows = [
        (f"{rule['count']:,}", printable(RULED_OUT[rule["kind"]].format(**rule)))
        for rule in trace["ruled_out"]
    ]
    rows.append((f"{trace['candidates']:,}", "fit"))
    if trace["unknown"]:
        rows.append((f"{trace['unknown']:,}", "of these are not known to the scheduler yet"))
    yield from _aligned(rows, right=(0,))


def _filters(trace: Document) -> Iterator[str]:
    rows = []
    for entry in trace["filters"]:
        left = entry["before"] - entry["removed"]
        reason = f"such as: {printable(entry['reason'])}" if entry["reason"] else ""
        rows.append((entry["name"], f"{entry['before']:,}", "->", f"{left:,}", reason))
    yield from _aligned(rows, right=(1, 3))


def _weights(choice: Document, host_now: str | None) -> Iterator[str]:
    ranked = [choice, *choice["runners_up"]]
    weighers = [name for name in choice["shares"] if any(one["shares"].get(name) for one in ranked)]
    rows = [("host", "weight", *weighers, "")]
    rows += [
        (
            one["host"] or UNKNOWN_HOST,
            f"{one['weight']:.3f}",
            *(f"{one['shares'].get(weigher, 0.0):.3f}" for weigher in weighers),
            _remark(one, choice, host_now),
        )
        for one in ranked
    ]
    yield from _aligned(rows, right=range(1, len(weighers) + 2))


def _remark(one: Document, choice: Document, host_now: str | None) -> str:
    is_here = one["host"] is not None and one["host"] == host_now
    if one is not choice:
        return "<- it is here: an alternate" if is_here else ""
    return "<- chosen" if is_here or host_now is None else "<- chosen first"


def _conflicts(choice: Document) -> Iterator[str]:
    for conflict in choice["conflicts"]:
        host = conflict["host"] or UNKNOWN_HOST
        yield f"{host}: {printable(conflict['reason'] or 'somebody else was faster')}"


def _timings(trace: Document) -> Iterator[str]:
    if trace["timings_ms"]:
        yield ", ".join(f"{stage} {ms:.1f} ms" for stage, ms in trace["timings_ms"].items())


def _aligned(rows: Sequence[Sequence[str]], right: Iterable[int]) -> Iterator[str]:
    """Yield rows as lines with their columns under each other, those in ``right`` to the right."""
    to_the_right = set(right)
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (
            cell.rjust(width) if number in to_the_right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(padded).rstrip()
