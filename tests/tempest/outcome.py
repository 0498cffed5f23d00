"""Outcome of a Tempest run: what became of each test, and the causes of failures."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

PASSED, FAILED, SKIPPED = "success", "fail", "skip"

_CLASS = re.compile(r"(setUpClass|tearDownClass) \((.*)\)")
_REQUEST = re.compile(r"Request \([^)]*\): (\d+) (\w+) (\S+)")
_SCHEMA = re.compile(r"HTTP response body is invalid \((.*?)\n")
_ERROR = re.compile(
    r"^(?:[\w.]*(?:Error|Exception|Fault|NotFound|BadRequest|Conflict)\w*|Details).*"
)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SHOWN_MAX = 220


@dataclass(frozen=True, slots=True)
class Found:
    """What a stream says about one test, or of the set-up of a class."""

    id: str
    status: str
    reason: str
    traceback: str
    log: str


def by_test(found: Iterable[Found], known: Iterable[str]) -> dict[str, Found]:
    """Return what became of each known test; the set-up of a class decides for all its tests."""
    of_class = defaultdict(list)
    outcome = {}
    for name in known:
        outcome[name] = Found(name, SKIPPED, "not run", "", "")
        of_class[name.rpartition(".")[0]].append(name)
    for each in found:
        match = _CLASS.match(each.id)
        names = of_class[match[2]] if match else [each.id.partition("[")[0]]
        for name in names:
            is_later = match is not None and match[1] == "tearDownClass"
            if name in outcome and not (is_later and outcome[name].status != PASSED):
                outcome[name] = each
    return outcome


def counts(outcome: dict[str, Found]) -> str:
    """Return the line of figures."""
    number = Counter(each.status for each in outcome.values())
    return (
        f"{len(outcome)} tests: {number[PASSED]} passed, {number[FAILED]} failed, "
        f"{number[SKIPPED]} skipped"
    )


def causes(outcome: dict[str, Found]) -> list[str]:
    """Return a line for each cause of failures with an example, the most frequent first."""
    groups = defaultdict(list)
    for name, each in outcome.items():
        if each.status == FAILED:
            groups[_cause(each)].append(name.removeprefix("tempest.api.compute."))
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    return [f"{len(names):4d} {cause}\n       {names[0]}" for cause, names in ordered]


def _cause(found: Found) -> str:
    requests = _REQUEST.findall(found.log)
    code, method, url = requests[-1] if requests else ("", "", "")
    path = _UUID.sub("ID", re.sub(r"https?://[^/]+", "", url).partition("?")[0])
    schema = _SCHEMA.search(found.traceback)
    lines = [line for line in found.traceback.splitlines() if _ERROR.match(line)]
    text = schema[1] if schema else " ".join(lines[-2:])
    kind = "answer" if schema else code
    plain = re.sub(r"\d{4,}", "N", re.sub(r"tempest-[\w-]*", "NAME", _UUID.sub("ID", text)))
    return f"{kind} {method} {path}: {plain[:_SHOWN_MAX]}"
