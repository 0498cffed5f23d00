"""The current activity over HTTP."""

from datetime import UTC, datetime, timedelta

from objects.hosts.activity import Activity, CellActivity, HostCounts, WorkCount, WorkerFigures
from objects.zones.zone_status import ZoneStatus
from tests import builders
from tests.fixtures.http_api import Api
from tests.fixtures.super_conductor import SuperConductor

PATH = "/v2.1/armillary/now"
SCHEDULER, CONDUCTOR = "armillary-scheduler", "armillary-conductor"


def figures(binary: str, worker: int, **values: float) -> WorkerFigures:
    return WorkerFigures("top1", binary, worker, values, builders.A_TIME)


def an_activity() -> Activity:
    """Return a scheduler of two workers, and a cell with builds under way and a host down."""
    on_top = CellActivity(
        [builders.a_service("top1", binary=SCHEDULER, up=True)],
        [
            figures(SCHEDULER, 0, decisions_per_second=1.5, claims_refused_total=2),
            figures(SCHEDULER, 1, decisions_per_second=2.5, claims_refused_total=1),
        ],
        [WorkCount("reservations", None, "scheduling", 3, 1)],
    )
    cell = CellActivity(
        [builders.a_service("c1", binary=CONDUCTOR, up=True)],
        [],
        [WorkCount("instance_builds", None, "building", 7, 0)],
        HostCounts(total=10, up=9, disabled=1),
        [builders.a_service("h1", up=False)],
    )
    seen = datetime.now(UTC) - timedelta(seconds=30)
    below: list[dict[str, object]] = [{"name": "eu-1", "state": "online", "zones": []}]
    zone = ZoneStatus("eu", "online", seen, hosts=30, hosts_up=29, zones=below)
    return Activity(on_top, {"cell1": cell}, [zone], ["cell2"])


def test_figures_of_all_workers_are_summed(api: Api, conductor: SuperConductor) -> None:
    """By service, and in total; what no service reports is 0."""
    conductor.activity = an_activity()
    shown = api.get(PATH).json
    assert [(one["binary"], one["cell"], one["figures"]) for one in shown["services"]] == [
        (SCHEDULER, None, {"decisions_per_second": 4.0, "claims_refused_total": 3}),
        (CONDUCTOR, "cell1", {}),
    ]
    totals = shown["totals"]
    assert (totals["decisions_per_second"], totals["claims_refused_total"]) == (4.0, 3)
    assert (totals["requests_under_way"], totals["builds_under_way"]) == (3, 7)
    assert totals["leases_taken_over_total"] == 0


def test_silent_hosts_cells_and_zones_are_named(api: Api, conductor: SuperConductor) -> None:
    """With counts of all hosts, the age of each zone's summary, and the zones below it."""
    conductor.activity = an_activity()
    shown = api.get(PATH).json
    assert (shown["hosts"]["total"], shown["hosts"]["up"], shown["hosts"]["disabled"]) == (10, 9, 1)
    down = [(one["host"], one["cell"]) for one in shown["hosts"]["down"]]
    assert down == [("h1", "cell1")]
    assert shown["down_cells"] == ["cell2"]
    (zone,) = shown["zones"]
    assert (zone["path"], zone["state"]) == ("eu", "online")
    assert 30 <= zone["summary_age_seconds"] < 300
    assert (zone["hosts_up"], zone["hosts"]) == (29, 30)
    assert [(one["name"], one["state"]) for one in zone["zones"]] == [("eu-1", "online")]
