"""An explanation in words."""

from collections.abc import Callable
from typing import Any

import pytest

from objects.instance import Instance
from objects.instances.explanation import Decision
from programs.commands.decisions.explain import text_of
from tests import builders
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor

pytestmark = pytest.mark.usefixtures("wide_screen")


def a_share(raw: float | None, normalised: float | None, weight: float) -> dict[str, Any]:
    return {"raw": raw, "normalised": normalised, "weight": weight}


def removed(count: int, *reasons: tuple[str, int]) -> dict[str, Any]:
    said = [{"reason": reason, "count": found} for reason, found in reasons]
    return {"name": "ComputeFilter", "before": 4, "removed": count, "reasons": said}


def a_trace(**values: Any) -> dict[str, Any]:
    """Return a trace: of ten hosts four fit, three pass, host1 is chosen, before it host3."""
    choice = {
        "instance_uuid": "u",
        "host": "host1",
        "node": "host1",
        "weight": 2.5,
        "shares": {
            "CPUWeigher": a_share(16.0, 1.0, 1.0),
            "RAMWeigher": a_share(32768.0, 0.75, 1.5),
            "IoOpsWeigher": a_share(0.0, 0.0, 0.0),
        },
        "runners_up": [
            {"host": "host2", "weight": 1.25, "shares": {"CPUWeigher": a_share(20.0, 1.0, 1.25)}}
        ],
        "conflicts": [{"host": "host3", "reason": "inventory changed"}],
    }
    return {
        "request_id": "req-1",
        "created_at": "2030-01-31T12:00:00Z",
        "hosts_total": 10,
        "ruled_out": [
            {"kind": "resource", "name": "MEMORY_MB", "count": 5, "asked": 65536, "best": 4096},
            {"kind": "disabled", "name": "COMPUTE_STATUS_DISABLED", "count": 1},
        ],
        "candidates": 4,
        "unknown": 0,
        "nearest": [],
        "filters": [removed(1, ("its service is down", 1))],
        "choices": [choice],
        "timings_ms": {"candidates": 1.234, "claim": 2.0, "total": 5.0},
        "sentence": None,
        **values,
    }


def an_explanation(**values: Any) -> dict[str, Any]:
    """Return an explanation of a server that is on host2 after a failed build on host1."""
    return {
        "server": {"id": "u", "name": "web", "status": "ACTIVE", "attempt": 2, "host": "host2"},
        "trace": a_trace(),
        "faults": [
            {
                "attempt": 1,
                "code": 500,
                "message": "No space.",
                "created": None,
                "host": "host1",
                "details": "line 1\nline 2",
            }
        ],
        "attempts": [
            {"attempt": 1, "host": "host1", "result": "Error", "reason": "No space."},
            {"attempt": 2, "host": "host2", "result": "Success", "reason": None},
        ],
        **values,
    }


ON_AN_ALTERNATE = """\
web (u) is ACTIVE on host2, attempt 2 of 2.

Attempts:
  1  host1  failed: No space.
    line 1
    line 2
  2  host2  built

4 of 10 hosts with resources fit; of the others:
  5  lack MEMORY_MB: 65,536 asked, 4,096 free at most
  1  is disabled
Filters passed 3 of 4; rejected:
  1  ComputeFilter: its service is down

Weights, with the contributions for the selected host:
            raw  normalised     host1         host2
  CPU        16       1.000     1.000         1.250
  RAM    32,768       0.750     1.500         0.000
  total                         2.500         1.250
                             selected  current host
Claims refused by placement:
  host3: inventory changed

Time: 5.0 ms: claim 2.0, candidates 1.2
"""


def test_the_whole_story_is_told() -> None:
    """Which attempt, who was ruled out by what, whose weight, whose claim, how long."""
    assert text_of(an_explanation()) == ON_AN_ALTERNATE


def test_a_server_on_its_first_host_was_chosen() -> None:
    """The mark says so."""
    text = text_of(
        an_explanation(
            server={"id": "u", "name": "web", "status": "ACTIVE", "attempt": 1, "host": "host1"},
            attempts=[{"attempt": 1, "host": "host1", "result": "Success", "reason": None}],
            faults=[],
        )
    )
    assert text.startswith("web (u) is ACTIVE on host1, attempt 1 of 1.\n")
    assert text.count("chosen\n") == 1
    assert "current host" not in text
    assert "Attempts" not in text


def test_one_that_fits_nowhere_has_one_sentence() -> None:
    """It is said once, though it is in the fault's details, too."""
    sentence = "All 10 hosts lack MEMORY_MB."
    text = text_of(
        an_explanation(
            server={"id": "u", "name": "web", "status": "ERROR", "attempt": 0, "host": None},
            trace=a_trace(sentence=sentence, choices=[], filters=[], candidates=0),
            attempts=[],
            faults=[{"attempt": 0, "message": "No valid host was found.", "details": sentence}],
        )
    )
    assert text.startswith(f"web (u) is in ERROR: No valid host was found.\nWhy: {sentence}\n\n")
    assert text.count(sentence) == 1
    assert "Faults:" not in text
    assert "Weights" not in text


def test_a_fault_that_no_attempt_shows_is_told() -> None:
    """Its details may be all there is."""
    fault = {"attempt": 0, "message": "Scheduling took too long.", "details": "placement: timeout"}
    text = text_of(
        an_explanation(
            server={"id": "u", "name": "web", "status": "ERROR", "attempt": 0, "host": None},
            trace=None,
            attempts=[],
            faults=[fault],
        )
    )
    assert "Faults:\n  Scheduling took too long.\n    placement: timeout\n" in text
    assert "The decision trace is not available" in text


def test_one_being_built_says_where() -> None:
    """Its attempt is under way."""
    text = text_of(
        an_explanation(
            server={"id": "u", "name": "web", "status": "BUILD", "attempt": 1, "host": "host1"},
            attempts=[{"attempt": 1, "host": "host1", "result": None, "reason": None}],
            faults=[],
        )
    )
    assert text.startswith("web (u) is being built on host1, attempt 1 of 1.\n")
    assert "  1  host1  under way\n" in text


def test_an_undecided_one_has_no_place() -> None:
    """Between acceptance and scheduling."""
    server = {"id": "u", "name": "web", "status": "BUILD", "attempt": 0}
    text = text_of(an_explanation(server=server, trace=None, attempts=[], faults=[]))
    assert text.startswith("web (u) is being built.\n")


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ({}, "Its cell is down.\n"),
        ({"cell": "cell1", "reason": "no answer"}, "Its cell is down. Last error: no answer\n"),
    ],
    ids=["member", "administrator"],
)
def test_what_a_build_waits_for(seen: dict[str, str], said: str) -> None:
    """Since when, and what an administrator may know of it."""
    server = {"id": "u", "name": "web", "status": "BUILD", "attempt": 0}
    wait = {"since": "2030-01-31T12:00:00Z", "message": "Its cell is down.", **seen}
    text = text_of(an_explanation(server=server, attempts=[], faults=[], wait=wait))
    assert text.splitlines(keepends=True)[1] == f"Waiting since 2030-01-31T12:00:00Z: {said}"


def test_members_see_no_host() -> None:
    """Numbers stay, names go; the API leaves them out."""
    document = an_explanation(
        server={"id": "u", "name": "web", "status": "ACTIVE", "attempt": 1},
        attempts=[{"attempt": 1, "result": "Success", "reason": None}],
        faults=[],
    )
    (choice,) = document["trace"]["choices"]
    for one in (choice, *choice["runners_up"], *choice["conflicts"]):
        one["host"] = None
    text = text_of(document)
    assert "is ACTIVE, attempt 1 of 1." in text
    assert "  host 1  host 2\n" in text


def test_hosts_that_the_scheduler_does_not_know_are_counted() -> None:
    """They fit, and no request can use them yet."""
    text = text_of(an_explanation(trace=a_trace(unknown=2)))
    assert "  2  fit, but are not known to the scheduler yet\n" in text


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("trait", "lack X"),
        ("forbidden_trait", "have X, which is forbidden"),
        ("member_of", "are not in aggregate X"),
        ("forbidden_aggregate", "are in aggregate X, which is forbidden"),
        ("request_filter", "were not asked for: X"),
        ("in_tree", "are not in the tree of X"),
        ("group_policy", "fit each part of the request, but not all together (X)"),
        ("combination", "fit each part of the request, but not all together (X)"),
        ("something_new", "are ruled out by X"),
    ],
)
def test_every_rule_of_placement_has_words(kind: str, words: str) -> None:
    """As the trace's contract lists them."""
    trace = a_trace(ruled_out=[{"kind": kind, "name": "X", "count": 6}])
    assert f"  6  {words}\n" in text_of(an_explanation(trace=trace))


def test_a_terminal_gets_nothing_to_obey() -> None:
    """Names and messages come from others."""
    server = {"id": "u", "name": "w\x1b[2J", "status": "ACTIVE", "attempt": 0, "host": "h"}
    assert "\x1b" not in text_of(an_explanation(server=server))


@pytest.mark.parametrize(
    ("trace", "line"),
    [
        ({"candidates": 1, "ruled_out": []}, "1 of 1 host with resources fits."),
        ({"candidates": 0}, "The only host does not fit:"),
        ({"candidates": 0, "ruled_out": [], "unknown": 1},
         "  1  fits, but is not known to the scheduler yet"),
        ({"filters": [{**removed(0), "before": 1}]}, "Filters passed 1 of 1: ComputeFilter."),
    ],
)  # fmt: skip
def test_one_host_is_spoken_of_as_one(trace: dict[str, Any], line: str) -> None:
    """In the singular."""
    text = text_of(an_explanation(trace=a_trace(hosts_total=1, **trace)))
    assert line in text.splitlines()


def test_no_hosts_are_counted_where_a_sentence_says_what_is_wrong() -> None:
    """The request had to be beside a host, so placement was not asked."""
    none = a_trace(hosts_total=0, candidates=0, ruled_out=[], filters=[], choices=[])
    assert "\nThere are no" in text_of(an_explanation(trace=none))
    why = {**none, "sentence": "The host of the server is in no aggregate."}
    assert "There are no" not in text_of(an_explanation(trace=why))


@pytest.mark.parametrize(
    ("entries", "lines"),
    [
        ([removed(0)], ["Filters passed all 4: ComputeFilter."]),
        (
            [removed(3, ("is down", 2), ("is disabled", 1)), {**removed(0), "name": "AFilter"}],
            [
                "Filters passed 1 of 4; rejected:",
                "  2  ComputeFilter: is down",
                "  1  ComputeFilter: is disabled",
                "  none by AFilter",
            ],
        ),
        ([removed(2)], ["Filters passed 2 of 4; rejected:", "  2  ComputeFilter"]),
        (
            [removed(4, ("is down", 2), ("is disabled", 1))],
            [
                "Filters passed 0 of 4; rejected:",
                "  4  ComputeFilter, at least 2: is down; at least 1: is disabled",
            ],
        ),
    ],
)
def test_filters_say_how_many_hosts_and_why(entries: list[Any], lines: list[str]) -> None:
    """With exact counts where they are known, with the least where not."""
    text = text_of(an_explanation(trace=a_trace(filters=entries, choices=[], timings_ms={})))
    assert text.splitlines()[-len(lines) :] == lines


def test_filters_without_effect_are_told_however_many() -> None:
    """As far as the screen goes."""
    entries = [{**removed(0), "name": f"Rather{n}LongNamedFilter"} for n in range(9)]
    text = text_of(an_explanation(trace=a_trace(filters=entries)))
    assert "\nFilters passed all 4: Rather0LongNamedFilter, Rather1LongNamedFilter, " in text


def test_the_nearest_misses_are_told() -> None:
    """For which part of the request, what is lacking, by how much."""
    lacks = [
        {"kind": "resource", "name": "VCPU", "asked": 8, "free": 6, "short": 2},
        {"kind": "trait", "name": "HW_GPU"},
    ]
    nearest = [
        {"suffix": "_GPU", "host": "host1", "lacks": lacks},
        {"suffix": "", "host": None, "lacks": lacks[:1]},
    ]
    text = text_of(an_explanation(trace=a_trace(nearest=nearest)))
    assert (
        "Nearest misses:\n"
        "  host1 lacks for part _GPU: 2 of VCPU (6 free), HW_GPU\n"
        "  a host lacks: 2 of VCPU (6 free)\n"
    ) in text


def test_hosts_that_weigh_the_same_need_no_table() -> None:
    """Nor does the only one."""
    alone = {**a_trace()["choices"][0], "shares": {}, "runners_up": [], "conflicts": []}
    text = text_of(an_explanation(trace=a_trace(choices=[alone])))
    assert "There was no choice: one host was left, host1.\n" in text
    equal = {**alone, "runners_up": [{"host": "host2", "weight": 0.0, "shares": {}}]}
    text = text_of(an_explanation(trace=a_trace(choices=[equal])))
    assert "All hosts have the same weight.\n" in text


def a_busy_trace() -> dict[str, Any]:
    """Return a trace of long names, many weighers, several reasons."""
    weighers = ("CPU", "RAM", "Disk", "IoOps", "HypervisorVersion", "BuildFailure", "NumInstances")
    shares = {f"{name}Weigher": a_share(1234567.0, 0.123, -123.456) for name in weighers}
    ranked = [
        {"host": f"compute-rack01-node{n:04}.example.org", "weight": -n, "shares": shares}
        for n in range(4)
    ]
    return a_trace(
        choices=[{**ranked[0], "runners_up": ranked[1:], "conflicts": []}],
        filters=[
            {
                **removed(3, ("its service is down", 2), ("its service is disabled", 1)),
                "before": 515,
            },
            {
                **removed(412, ("its number of instances is 50, the limit is 50", 412)),
                "before": 512,
            },
            *[{**removed(0), "name": f"A{n}Filter"} for n in range(9)],
        ],
        timings_ms={f"stage number {n}": 12.3 for n in range(12)},
    )


def test_the_usual_case_fits_on_a_screen() -> None:
    """24 lines of 100 columns."""
    lines = text_of(
        an_explanation(
            server={"id": "u" * 36, "name": "web", "status": "ACTIVE", "attempt": 1, "host": "h"},
            attempts=[{"attempt": 1, "host": "h", "result": "Success", "reason": None}],
            faults=[],
            trace=a_busy_trace(),
        )
    ).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    assert any(line.endswith("…1-node0001  …1-node0002  …1-node0003") for line in lines)


def test_long_lists_are_cut() -> None:
    """And say where the rest is."""
    rules = [{"kind": "trait", "name": f"T{n}", "count": 1} for n in range(40)]
    text = text_of(an_explanation(trace=a_trace(ruled_out=rules)))
    assert "… and 29 more: use -f json to see all\n" in text


def a_decision(operation: str, **values: Any) -> dict[str, Any]:
    return {
        "operation": operation,
        "request_id": f"req-{operation}",
        "decided_at": "2030-01-31T12:00:00Z",
        "host": "host2",
        "sentence": None,
        **values,
    }


REFUSED_RESIZE = """\
web (u) is ACTIVE on host2, attempt 2 of 2.
Decided at 2030-01-31T12:00:00Z about its resize (req-resize): no host was found.
Why: All 10 hosts lack MEMORY_MB.
"""
DECISIONS = """\
All decisions; use --request to show another one:
  2030-01-31T12:00:00Z  resize  req-resize  no host was found
  2030-01-31T12:00:00Z  create  req-create  host2
"""


def test_a_move_is_told_instead_of_the_build() -> None:
    """What for, when and by whom it was asked; how it was built is left out."""
    sentence = "All 10 hosts lack MEMORY_MB."
    refused = a_decision("resize", host=None, sentence=sentence)
    text = text_of(
        an_explanation(
            trace=a_trace(sentence=sentence, choices=[]),
            decision=refused,
            decisions=[refused, a_decision("create")],
        )
    )
    assert text.startswith(REFUSED_RESIZE)
    assert text.endswith(DECISIONS)
    assert "Attempts:" not in text


def test_a_server_that_never_moved_has_nothing_to_choose_from() -> None:
    """Its one decision is that of its create."""
    created = a_decision("create")
    text = text_of(an_explanation(decision=created, decisions=[created]))
    assert text == ON_AN_ALTERNATE


def a_zone(outcome: str, path: list[str | None], hosts: int = 0, **values: Any) -> dict[str, Any]:
    return {"path": path, "outcome": outcome, "hosts": hosts, "seconds": None, "reason": None,
            **values}  # fmt: skip


ZONES = [
    a_zone("own", [], 3),
    a_zone("asked", ["eu"], 10, seconds=0.0125),
    a_zone("own", ["eu"], 40),
    a_zone("pruned", ["us"], reason="no host has HW_GPU"),
    a_zone("late", ["asia", "jp"], seconds=4.0),
]


def test_zones_are_told_of_before_hosts() -> None:
    """Who was asked, what each offered, who did not answer."""
    text = text_of(an_explanation(trace=a_trace(zones=ZONES)))
    assert (
        "Zones:\n"
        "  this zone   3  own hosts fit\n"
        "  eu         10  hosts offered, the best of this zone and the zones below it (12.5 ms)\n"
        "  eu         40  own hosts fit\n"
        "  us             not asked: nothing below it fits the request: no host has HW_GPU\n"
        "  asia/jp        did not answer in time (4000.0 ms)\n"
    ) in text


def test_a_zone_whose_own_hosts_do_not_fit_says_so() -> None:
    """The reason is why."""
    zone = a_zone("own", [], reason="All 3 hosts lack HW_GPU.")
    text = text_of(an_explanation(trace=a_trace(zones=[zone])))
    assert "no own host fits: All 3 hosts lack HW_GPU." in text


def test_a_zone_that_users_may_not_know_is_hidden() -> None:
    """What became of it is told all the same."""
    text = text_of(an_explanation(trace=a_trace(zones=[a_zone("late", [None])])))
    assert "  a zone    did not answer in time\n" in text


def test_a_decision_about_zones_alone_tells_of_no_hosts() -> None:
    """Those of other zones are theirs."""
    trace = a_trace(zones=ZONES, hosts_total=0, ruled_out=[], filters=[], choices=[], candidates=0)
    assert "Placement knows" not in text_of(an_explanation(trace=trace))


@pytest.fixture(autouse=True)
def server(conductor: BuildingSuperConductor, a_server: Callable[..., Instance]) -> Instance:
    """Have a server whose placing is explained."""
    conductor.trace = a_trace()
    return a_server("web", host="host2", attempt=2)


def test_an_explanation_is_text_for_people(armillary: Armillary, server: Instance) -> None:
    """By name."""
    ended = armillary("explain", "web")
    assert ended.code == 0
    assert ended.out.startswith(f"web ({server.uuid}) is ACTIVE on host2, attempt 2 of 2.\n")


def test_programs_get_all_the_api_says(armillary: Armillary, server: Instance) -> None:
    """The raw document."""
    document: dict[str, Any] = armillary("explain", server.uuid, "-f", "json").json
    assert document["server"]["id"] == server.uuid
    assert document["trace"] == a_trace()


def test_a_decision_is_asked_for_by_its_request(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """The last one without."""
    conductor.decisions = [
        Decision("live-migration", "req-2", builders.A_TIME, "host2", None),
        Decision("create", "req-1", builders.A_TIME, "host2", None),
    ]
    assert "about its live-migration (req-2): host2." in armillary("explain", "web").out
    ended = armillary("explain", "web", "--request", "req-1")
    assert conductor.decision_asked == "req-1"
    assert "about its create (req-1): host2." in ended.out


def test_an_unknown_server_is_exit_code_3(armillary: Armillary) -> None:
    """Nothing to explain."""
    assert armillary("explain", "typo").code == 3
