"""The zone scheduler: a filter scheduler that also searches child zones, for hosts or pools."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np

from armillary import exception
from armillary.concurrency import WorkerPool
from objects.destinations import Destinations
from objects.instances.instance_group import AFFINITY
from objects.packed import unchecked
from objects.request_spec import RequestSpec
from objects.traces.decision_trace import DecisionTrace, Plain
from objects.zones.zone_answer import entry_name, silent_among
from scheduler.drivers.filter_scheduler import FilterScheduler
from scheduler.request.scheduling_request import Outcome, SchedulingRequest
from scheduler.selection import responses
from scheduler.selection.run_concurrently import run_concurrently
from scheduler.zones.offers import Offers, ZoneEntry, shares_of, weights_of
from scheduler.zones.search import Found, Plan, ZoneSearch, bound_to_zones

_WORKERS = 16
_WAITING_MAX = 10_000


class ZoneSearchingScheduler(FilterScheduler):
    """A filter scheduler that queries child zones, too, once it has a search for them."""

    def _prepare(self) -> None:
        super()._prepare()
        self._search: ZoneSearch | None = None

    def search_with(self, search: ZoneSearch) -> None:
        """Set the search used for children; call it before the first decision."""
        self._askers = WorkerPool(_WORKERS, "zone-requests", queue_size_max=_WAITING_MAX)
        self._search = search

    def select_many(self, requests: Sequence[SchedulingRequest]) -> list[Outcome]:
        search = self._search
        if search is None or not (search.has_children or any(one.only_zones for one in requests)):
            return super().select_many(requests)
        asked = [_Asked(request, *_planned(search, request)) for request in requests]
        works = [partial(self._ask, search, one) for one in asked if one.is_for_zones]
        if works:
            run_concurrently(self._askers, works)
        for one in asked:
            if one.outcome is None and (bound_to := one.bound_to):
                one.outcome = self._no_host_beside(one, bound_to)
        local = [one for one in asked if one.outcome is None]
        if local:
            found = super().select_many([one.request for one in local])
            for one, outcome in zip(local, found, strict=True):
                one.outcome = _with_zones(outcome, one.zones, self.noun)
        return [one.outcome for one in asked if one.outcome is not None]

    def _ask(self, search: ZoneSearch, asked: _Asked) -> None:
        """Query the zones; leave the outcome unset if this zone decides alone."""
        assert asked.plan is not None
        try:
            query = search.origin_query(asked.request)
            found = search.search(asked.request.context, query, asked.plan)
        except Exception as error:
            asked.outcome = error
            return
        asked.zones = [zone for zone in found.zones if zone.path]
        if asked.request.only_zones and not len(found.offers):
            asked.outcome = self._no_host_in(asked)
        elif not _is_for_own_zone(asked.request.request_spec, found):
            asked.outcome = self._destinations_of(asked.request, found)

    def _no_host_in(self, asked: _Asked) -> Exception:
        """Return the error for a request to certain zones, which have no host for it."""
        trace = DecisionTrace.from_values(
            request_id=asked.request.context.request_id,
            created_at=self._now(),
            zones=[zone.to_plain() for zone in asked.zones],
            sentence=_sentence(asked.zones, self.noun),
        )
        return responses.no_valid_host(trace)

    def _no_host_beside(self, asked: _Asked, bound_to: Sequence[str]) -> Exception:
        """Return the error for a request whose affinity group's zones have no host for it."""
        names = ", ".join(bound_to)
        why = [
            f"zone {'/'.join(zone.path)}: {zone.reason or 'no host'}"
            for zone in asked.zones
            if zone.path and not zone.hosts and _leads_to("/".join(zone.path), bound_to)
        ]
        group = asked.request.request_spec.instance_group
        policy = None if group is None else group.policy
        sentence = (
            f"The {policy} policy of its server group requires a host of the group's members in "
            f"zone {names}, and none of those hosts can take it"
        )
        trace = DecisionTrace.from_values(
            request_id=asked.request.context.request_id,
            created_at=self._now(),
            zones=[zone.to_plain() for zone in asked.zones],
            sentence=f"{sentence} ({'; '.join(dict.fromkeys(why))})." if why else f"{sentence}.",
        )
        return responses.no_valid_host(trace)

    def _destinations_of(self, request: SchedulingRequest, found: Found) -> Destinations:
        trace = found.own_trace or DecisionTrace.from_values(
            request_id=request.context.request_id, created_at=self._now()
        )
        trace.zones = [zone.to_plain() for zone in found.zones]
        trace.sentence = None  # it covers only this zone's hosts
        trace.choices = self._choices(request, found.offers)
        trace.obj_reset_changes()
        is_named = request.dry_run or request.request_spec.kind is not None
        names = self._names_of_own_hosts(found.offers) if is_named else {}
        entries = [
            {"host_id": host_id, "path": path, **({} if path else names.get(host_id, {}))}
            for host_id, path in zip(found.offers.host_ids, found.offers.paths, strict=True)
        ]
        return unchecked.make(
            Destinations,
            hosts=[],
            choices=np.zeros((len(request.instance_uuids), 0), dtype=np.int64),
            trace=trace,
            zone_entries=entries,
        )

    def _choices(self, request: SchedulingRequest, offers: Offers) -> list[Plain]:
        """Return for each instance where its walk starts, with the weights in the joined list."""
        options = self._conf.scheduler
        weights = weights_of(offers, self.plugin_weighers)
        ranked = [
            {
                "host": entry_name(path, host_id),
                "weight": weights[row].item(),
                "shares": shares_of(offers, self.plugin_weighers, row),
            }
            for row, (path, host_id) in enumerate(zip(offers.paths, offers.host_ids, strict=True))
        ]
        runners_up = options.trace_runners_up_max
        choices = []
        for index, instance_uuid in enumerate(request.instance_uuids[: options.trace_choices_max]):
            start = index % len(ranked)
            others = [one for rank, one in enumerate(ranked[: runners_up + 1]) if rank != start]
            choice: Plain = {"instance_uuid": instance_uuid, "node": None, "conflicts": []}
            choices.append({**choice, **ranked[start], "runners_up": others[:runners_up]})
        return choices

    def _names_of_own_hosts(self, offers: Offers) -> dict[str, dict[str, str]]:
        """Return by id the names of this zone's hosts for display; builds use the ids."""
        own = [
            host_id for host_id, path in zip(offers.host_ids, offers.paths, strict=True) if not path
        ]
        hosts, default = self._host_store.view_all(), self._conf.default_availability_zone
        names = {}
        for host_id, position in hosts.positions_of(self._host_store.rows_of(own)).items():
            host = hosts.value("host", position)
            names[host_id] = {
                "host": host,
                "availability_zone": hosts.cluster_metadata.zone_of(host, default),
                "node": hosts.value("nodename", position),
            }
        return names


class ZoneScheduler(ZoneSearchingScheduler):
    """Also queries child zones, and returns the best hosts of all zones, best first.

    Children are queried concurrently, except those whose capabilities rule the request out. Their
    offers are merged with this zone's hosts and weighed again. Nothing is claimed: the hosts are
    tried one after the other, and each zone claims its own. A request that must join members of its
    affinity group in other zones is placed there or fails. If there is no child, none can serve the
    request, or only hosts of this zone remain, it works as filter_scheduler. So do requests for
    certain hosts of this zone. Needs ``[zones] name``.
    """

    def _prepare(self) -> None:
        if not self._conf.zones.name:
            raise exception.ConfigurationError(
                reason="[scheduler] driver = zone_scheduler needs [zones] name to be set"
            )
        super()._prepare()


@dataclasses.dataclass(eq=False, slots=True)
class _Asked:
    """A request in progress; ``zones`` goes into its trace if this zone decides alone."""

    request: SchedulingRequest
    plan: Plan | None
    zones: list[ZoneEntry]
    outcome: Outcome | None = None

    @property
    def is_for_zones(self) -> bool:
        return self.plan is not None and bool(self.plan.to_ask or self.request.only_zones)

    @property
    def bound_to(self) -> list[str]:
        """The zones to which affinity restricts the request; empty if this zone may decide, too."""
        return [] if self.plan is None else bound_to_zones(self.request.request_spec)


def _planned(search: ZoneSearch, request: SchedulingRequest) -> tuple[Plan | None, list[ZoneEntry]]:
    if not request.only_zones and (
        not request.takes_zones or _is_for_own_hosts(request.request_spec)
    ):
        return None, []
    plan = search.plan(request.request_spec, only=[path.split("/") for path in request.only_zones])
    return plan, plan.left_out


def _is_for_own_zone(spec: RequestSpec, found: Found) -> bool:
    """Return whether this zone decides alone, as no other one has a host.

    While a zone that may have one does not answer, its own hosts are tried in turn, too: if all
    fail, that zone can still be searched.
    """
    if any(found.offers.paths):
        return False
    is_for_host = spec.kind is None and len(found.offers) > 0
    return not (is_for_host and silent_among(zone.to_plain() for zone in found.zones))


def _is_for_own_hosts(spec: RequestSpec) -> bool:
    """Return whether only this zone can serve the request: it names hosts or servers here."""
    destination, group = spec.requested_destination, spec.instance_group
    return bool(
        spec.is_forced
        or spec.is_rebuild_check
        or (destination and destination.is_single_host and spec.kind is None)
        or (destination and destination.cell_uuid)
        or (destination and destination.own_zone_only)
        or spec.hint("same_host")
        or (group is not None and group.policy == AFFINITY and group.hosts)
    )


def _leads_to(path: str, bound_to: Sequence[str]) -> bool:
    return any(f"{wanted}/".startswith(f"{path}/") for wanted in bound_to)


def _with_zones(outcome: Outcome, zones: list[ZoneEntry], noun: str) -> Outcome:
    """Return this zone's own outcome with the other zones' trace entries added."""
    if not zones:
        return outcome
    if isinstance(outcome, Destinations):
        outcome.trace.zones = [zone.to_plain() for zone in zones]
        outcome.trace.obj_reset_changes()
        return outcome
    if isinstance(outcome, exception.NoValidHost):
        trace = DecisionTrace.obj_from_primitive(outcome.kwargs["trace"])
        trace.zones = [zone.to_plain() for zone in zones]
        own = trace.sentence or f"No {noun} in this zone."
        trace.sentence = f"{own} {_sentence(zones, noun)}"
        trace.obj_reset_changes()
        return responses.no_valid_host(trace)
    return outcome


def _sentence(zones: Sequence[ZoneEntry], noun: str) -> str:
    """Summarise why no other zone had a host, without zone names, because users read it."""
    counts = Counter(zone.outcome for zone in zones)
    parts = [
        f"{counts[outcome]:,} {words.format(noun=noun)}"
        for outcome, words in _WORDS.items()
        if counts[outcome]
    ]
    return f"Zones below: {', '.join(parts)}."


_WORDS = {
    "asked": "without a valid {noun}",
    "pruned": "without the required capabilities",
    "late": "timed out",
    "failed": "failed",
    "stale": "with a stale summary",
    "offline": "offline",
    "disabled": "disabled",
    "cycle": "already queried",
}
