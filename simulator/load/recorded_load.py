"""Recorded load: a CSV file with one request per line."""

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from simulator.load.load import Request, requests_of
from simulator.load.streams import GROUP_HINT, Names, check_group_hint, check_known, hint_lists
from simulator.scenario.scenario import COUNT_MAX, INSTANCES_MAX, REQUESTS_MAX, Scenario
from simulator.scenario.scenario_errors import BadScenario, ScenarioError, found
from simulator.scenario.scenario_file import names_of
from simulator.scenario.yaml_document import read_text

REQUIRED = ("arrival_seconds", "flavor", "count", "lifetime_seconds")
OPTIONAL = ("hints", "zone", "image", "project")
SECONDS_MAX = 1e9

Row = Mapping[str, str]


def requests_in(scenario: Scenario) -> Iterator[Request]:
    """Return the recorded requests of a scenario, or those of its streams, by arrival."""
    if scenario.recorded is not None:
        return iter(read_recorded(scenario.recorded, scenario))
    return requests_of(scenario)


def read_recorded(path: Path, scenario: Scenario) -> list[Request]:
    """Return the requests of a file by arrival; requests after the end are omitted.

    Columns are ``REQUIRED`` and ``OPTIONAL``, in any order. Raises ``BadScenario`` with the line.
    """
    names = names_of(scenario)
    reader = csv.DictReader(
        io.StringIO(read_text(path)), restkey="", skipinitialspace=True, strict=True
    )
    try:
        _check_columns(path, reader.fieldnames or ())
        requests = [_request(path, reader.line_num, row, names, scenario) for row in reader]
    except csv.Error as error:
        raise _wrong(path, reader.reader.line_num, str(error)) from error
    instances = sum(request.count for request in requests)
    if len(requests) > REQUESTS_MAX or instances > INSTANCES_MAX:
        raise BadScenario(
            file=path,
            where="the file",
            reason=f"{len(requests):,} requests for {instances:,} instances; "
            f"allowed are {REQUESTS_MAX:,} for {INSTANCES_MAX:,}",
        )
    requests.sort(key=lambda request: request.at_seconds)
    return [request for request in requests if request.at_seconds < scenario.duration_seconds]


def _check_columns(path: Path, columns: object) -> None:
    given = [str(column).strip() for column in columns]  # type: ignore[attr-defined]
    allowed = f"allowed are {', '.join(REQUIRED)} and the optional {', '.join(OPTIONAL)}"
    if missing := [column for column in REQUIRED if column not in given]:
        raise _wrong(path, 1, f"the column {', '.join(missing)} is missing; {allowed}")
    for column in given:
        if column not in (*REQUIRED, *OPTIONAL) or given.count(column) > 1:
            raise _wrong(path, 1, f"found the column {found(column)}; {allowed}, each once")


def _request(path: Path, line: int, raw: Row, names: Names, scenario: Scenario) -> Request:
    if "" in raw or None in raw.values():
        raise _wrong(path, line, "the number of values differs from the number of columns")
    row = {column.strip(): value.strip() for column, value in raw.items()}
    try:
        return _checked(row, names, scenario)
    except ScenarioError as mistake:
        column = mistake.place[0]
        raise _wrong(path, line, f"{column}: {mistake.reason}") from None


def _checked(row: Row, names: Names, scenario: Scenario) -> Request:
    count = int(_number(row, "count", 1, COUNT_MAX, int))
    for column, known, what in (
        ("flavor", names.flavors, "flavors"),
        ("zone", names.zones, "zones"),
        ("image", names.images, "images"),
    ):
        if row.get(column) or column == "flavor":
            check_known(row[column], known, what, (column,))
    hints = _hints(row.get("hints", ""))
    check_group_hint(hints, names, ("hints",))
    group = next(iter(hints.pop(GROUP_HINT, [])), None)
    lifetime = math.inf
    if row["lifetime_seconds"]:
        lifetime = _number(row, "lifetime_seconds", 0, SECONDS_MAX)
    return Request(
        at_seconds=_number(row, "arrival_seconds", 0, SECONDS_MAX),
        flavor=row["flavor"],
        lifetimes=(lifetime,) * count,
        image=row.get("image") or None,
        zone=row.get("zone") or None,
        hints=hints,
        project=row.get("project") or "simulated",
        group=group,
        group_rules=scenario.groups[group] if group else None,
    )


def _number(
    row: Row, column: str, least: float, most: float, kind: Callable[[str], float] = float
) -> float:
    try:
        value = kind(row[column])
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        what = "a whole number" if kind is int else "a number"
        raise ScenarioError(
            (column,), f"found {found(row[column])}; allowed is {what} from {least:g} to {most:g}"
        )
    return value


def _hints(text: str) -> dict[str, list[str]]:
    """Parse ``name=value;name=value``."""
    hints: dict[str, list[str]] = {}
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        name, sign, value = part.partition("=")
        if not sign or not name:
            raise ScenarioError(
                ("hints",), f"found {found(part)}; allowed is name=value;name=value"
            )
        hints.setdefault(name, []).append(value)
    return hint_lists(hints)


def _wrong(path: Path, line: int, reason: str) -> BadScenario:
    return BadScenario(file=path, where=f"line {line}", reason=reason)
