"""Explanations over random fleets: they add up, and the smallest change that they name helps."""

import dataclasses
import re
from collections.abc import Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from armillary import exception
from armillary.context import admin_context
from objects import numa
from objects.allocations.allocation_candidates import AllocationCandidates
from objects.allocations.resource_query import ResourceQuery
from objects.flavor import Flavor
from objects.instances.group_claim import GroupMember
from objects.request_spec import RequestLevelParams, RequestSpec
from objects.traces.decision_trace import DecisionTrace
from objects.traces.explanation import CandidatesExplanation
from placement.candidates import explain, find_candidates, rpc_candidates, smallest_change
from placement.candidates import query as queries
from placement.providers.provider_table import ProviderTable
from tests.builders import a_flavor, a_uuid
from tests.fixtures.fleets.numa_fleets import a_host_cell
from tests.fixtures.placement.placement_law import LAW_PHASES
from tests.fixtures.placement.provider_tables import TableBuilder
from tests.fixtures.plugins.examples import examples
from tests.fleets import Host, a_driver, a_fleet, a_group, a_host, a_request_spec, scheduling_conf

ZONE = "aaaaaaaa-0000-4000-8000-000000000001"
TRAITS = ("CUSTOM_A", "CUSTOM_B")
DISABLED = "COMPUTE_STATUS_DISABLED"
RULES = ("min_unit", "max_unit", "step_size")


@dataclasses.dataclass(frozen=True)
class Planned:
    """A host: what it has, what is taken of it, what may be taken together, and its state."""

    totals: dict[str, int]
    used: dict[str, int]
    limits: dict[str, int]
    gpus: int
    traits: tuple[str, ...]
    is_in_zone: bool
    is_up: bool
    is_known: bool
    numa_cells: int

    @property
    def cells(self) -> list[numa.HostCell]:
        pinned = self.totals.get("PCPU", 0)
        return [
            a_host_cell(
                number,
                cpus=frozenset(range(number * 16, number * 16 + 8)),
                pcpus=frozenset(range(number * 16 + 8, number * 16 + 8 + pinned)),
                siblings=(),
            )
            for number in range(self.numa_cells)
        ]


@dataclasses.dataclass(frozen=True)
class Asked:
    """A request; the smallest change of one is another one."""

    amounts: dict[str, int]
    gpus: int
    traits: tuple[str, ...]
    is_in_zone: bool
    is_pinned: bool
    count: int
    policy: str | None
    accepts_disabled: bool = False

    def spec(self) -> RequestSpec:
        specs = {f"trait:{name}": "required" for name in self.traits}
        if self.gpus:
            specs["resources1:VGPU"] = str(self.gpus)
        if self.is_pinned:
            specs["hw:cpu_policy"] = "dedicated"
        flavor: Flavor = a_flavor(
            vcpus=self.amounts["VCPU"], memory_mb=self.amounts["MEMORY_MB"], root_gb=0,
            extra_specs=specs,
        )  # fmt: skip
        topology = numa.topology_of(flavor, None)
        return a_request_spec(
            flavor=flavor,
            numa_topology=None if topology is None else topology.to_plain(),
            num_instances=self.count,
            instance_group=None if self.policy is None else a_group(self.policy),
            request_level_params=RequestLevelParams.from_values(
                member_of=[[ZONE]] if self.is_in_zone else [],
                root_forbidden=[] if self.accepts_disabled else [DISABLED],
            ),
        )


class TablePlacement:
    """Placement's own engine over one table, as far as a dry run asks it."""

    def __init__(self, table: ProviderTable) -> None:
        self._table = table

    def get_allocation_candidates(
        self, context: object, query: ResourceQuery
    ) -> AllocationCandidates:
        parsed = queries.parse(query)
        found = find_candidates(self._table, parsed)
        found = smallest_change.with_lacks(self._table, parsed, found)
        return rpc_candidates.pack(self._table, query, found)

    def explain_candidates(self, context: object, query: ResourceQuery) -> CandidatesExplanation:
        return explain.explain(self._table, queries.parse(query))

    def list_group_members(self, context: object, group_uuid: str) -> list[GroupMember]:
        return []


@st.composite
def hosts(draw: st.DrawFn) -> Planned:
    totals = {"VCPU": draw(st.integers(1, 8)), "MEMORY_MB": draw(st.sampled_from([512, 2048]))}
    if draw(st.booleans()):
        totals["PCPU"] = draw(st.integers(1, 4))
    limit = st.sampled_from([0, 0, 0, 1, 2, 3])
    return Planned(
        totals=totals,
        used={name: draw(st.integers(0, total)) for name, total in totals.items()},
        limits={rule: value for rule in RULES if (value := draw(limit))},
        gpus=draw(st.sampled_from([0, 0, 1, 2])),
        traits=tuple(draw(st.sets(st.sampled_from([*TRAITS, DISABLED])))),
        is_in_zone=draw(st.booleans()),
        is_up=draw(st.sampled_from([True, True, False])),
        is_known=draw(st.sampled_from([True, True, True, False])),
        numa_cells=draw(st.integers(0, 2)),
    )


requests = st.builds(
    Asked,
    amounts=st.fixed_dictionaries(
        {"VCPU": st.integers(1, 9), "MEMORY_MB": st.sampled_from([256, 512, 4096])}
    ),
    gpus=st.sampled_from([0, 0, 1, 2]),
    traits=st.sets(st.sampled_from(TRAITS)).map(tuple),
    is_in_zone=st.booleans(),
    is_pinned=st.booleans(),
    count=st.sampled_from([1, 1, 2, 3]),
    policy=st.sampled_from([None, None, "anti-affinity", "affinity"]),
)


class Scene:
    """A fleet in the scheduler's and in placement's records."""

    def __init__(self, fleet: Sequence[Planned]) -> None:
        builder = TableBuilder()
        members: list[Host] = []
        roots = [self._add(builder, planned) for planned in fleet]
        table = builder.table()
        for planned, root in zip(fleet, roots, strict=True):
            for rule, value in planned.limits.items():
                getattr(table.columns_of("VCPU"), rule)[root] = value
            if planned.is_known:
                members.append(self._host(planned, str(table.uuids[root]), len(members)))
        self.driver = a_driver(
            members,
            placement=TablePlacement(table),  # type: ignore[arg-type]
            fleet=a_fleet(members),
            conf=scheduling_conf(scheduler__request_filters=[]),
        )

    @staticmethod
    def _add(builder: TableBuilder, planned: Planned) -> int:
        root = builder.add(
            planned.totals,
            used=planned.used,
            traits=planned.traits,
            aggregates=(ZONE,) if planned.is_in_zone else (),
        )
        if planned.gpus:
            builder.add({"VGPU": planned.gpus}, parent=root)
        return root

    @staticmethod
    def _host(planned: Planned, uuid: str, number: int) -> Host:
        topology = numa.HostTopology(cells=tuple(planned.cells)) if planned.numa_cells else None
        host = a_host(
            f"host{number}",
            service_up=planned.is_up,
            numa_topology=None if topology is None else topology.to_plain(),
        )
        return dataclasses.replace(host, uuid=uuid)

    def ask(self, asked: Asked) -> DecisionTrace:
        try:
            found = self.driver.select_destinations(
                admin_context(), asked.spec(), [a_uuid() for _ in range(asked.count)],
                fences=[0] * asked.count, return_alternates=False, dry_run=True,
            )  # fmt: skip
        except exception.NoValidHost as error:
            return DecisionTrace.obj_from_primitive(error.kwargs["trace"])
        return found.trace


@given(st.lists(hosts(), min_size=1, max_size=7), requests)
@settings(
    max_examples=examples(200), phases=LAW_PHASES, suppress_health_check=[HealthCheck.too_slow]
)
def test_an_explanation_adds_up_and_its_change_helps(fleet: list[Planned], asked: Asked) -> None:
    """Each host fails at one rule; without what the nearest lacks, placement has candidates."""
    scene = Scene(fleet)
    trace = scene.ask(asked)
    left = trace.hosts_total - sum(rule["count"] for rule in trace.ruled_out)
    assert (trace.hosts_total, left) == (len(fleet), trace.candidates)
    left -= trace.unknown
    for entry in trace.filters:
        assert entry["before"] == left
        left -= entry["removed"]
    assert not left if trace.sentence else left > 0
    if trace.sentence is None:
        return
    assert _total_of(trace.sentence) == len(fleet), trace.sentence
    if placed := re.match(r"Only (\d+) of", trace.sentence):
        fewer = dataclasses.replace(asked, count=int(placed[1]))
        assert scene.ask(fewer).sentence is None, trace.sentence
    elif not trace.candidates and (_names_all(trace) or not _has_other_rules(fleet, asked)):
        change = _changed(asked, trace.sentence)
        if any(change.amounts.values()):  # a request for devices alone is another question
            changed = scene.ask(change)
            assert changed.candidates, (trace.sentence, changed.sentence)


def _has_other_rules(fleet: Sequence[Planned], asked: Asked) -> bool:
    """Return whether a host may lack what is named only where it is all that the host lacks."""
    return bool(asked.gpus) or any(planned.limits for planned in fleet)


def _names_all(trace: DecisionTrace) -> bool:
    """Return whether all that the nearest host lacks is named: it is the only rule, or listed."""
    if "nearest miss" in str(trace.sentence):
        return True
    kinds = [rule["kind"] for rule in trace.ruled_out]
    lacks = [lack for miss in trace.nearest for lack in miss["lacks"]]
    return kinds in (["trait"], ["member_of"]) and len(lacks) < 2


def _total_of(sentence: str) -> int:
    """Return the sum of the numbers of hosts in a sentence."""
    clauses = re.sub(r"^Only .* placed: ", "", sentence).split("; ")
    found = 0
    for clause in clauses:
        if re.search(r"\bthe (only host|other one) ", clause, re.IGNORECASE):
            found += 1
        elif number := re.match(r"(?:all |the other )?(\d+) ", clause, re.IGNORECASE):
            found += int(number[1])
    return found


def _changed(asked: Asked, sentence: str) -> Asked:
    """Return the request without what the sentence says that the nearest host lacks."""
    missing = sentence.partition("the nearest miss ")[2] or sentence
    amounts, changed = dict(asked.amounts), asked
    for limit, value in re.findall(r"gives? (at least|at most|multiples of) (\d+) VCPU", missing):
        step = int(value)
        multiple = max(amounts["VCPU"] // step, 1) * step
        amounts["VCPU"] = multiple if limit == "multiples of" else step
    for name, unit in (("VCPU", "(?:vCPU|dedicated CPU)"), ("MEMORY_MB", "MiB of memory")):
        if short := re.search(rf"(\d[\d,]*) {unit}", missing):
            free = asked.amounts[name] - int(short[1].replace(",", ""))
            amounts[name] = min(amounts[name], free)
    if short := re.search(r"(\d+) VGPU", missing):
        changed = dataclasses.replace(changed, gpus=changed.gpus - int(short[1]))
    return dataclasses.replace(
        changed,
        amounts=amounts,
        traits=tuple(name for name in asked.traits if name not in missing),
        is_in_zone=asked.is_in_zone and "aggregate" not in missing,
        accepts_disabled=bool(re.search("(is|are) disabled", missing)),
    )
