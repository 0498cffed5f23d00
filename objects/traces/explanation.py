"""Explanations of queries for allocation candidates: what rejects providers, what the nearest lack.

``kind`` and ``name`` of a condition are those of ``DecisionTrace.ruled_out``. For resources there
is also the amount ``asked``, and the ``rule`` (such as step_size) unless that is free capacity.
"""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Rejection:
    """A condition, and how many providers it rejects (a tree counts as one).

    ``best`` is the largest free amount among these. ``providers`` is a sample of the roots
    (``objects.traces.host_sample``), which says no more about the condition.
    """

    kind: str
    name: str
    count: int
    asked: int | None = None
    best: int | None = None
    rule: str | None = None
    providers: list[str] | None = dataclasses.field(default=None, compare=False)

    def to_plain(self) -> dict[str, object]:
        """Return an entry of ``AllocationCandidates.ruled_out``."""
        return dataclasses.asdict(self, dict_factory=_without_nulls)


@dataclasses.dataclass(frozen=True, slots=True)
class Lack:
    """A condition that a provider fails; ``short`` is what its ``free`` amount is short of."""

    kind: str
    name: str
    asked: int | None = None
    free: int | None = None
    rule: str | None = None
    short: int | None = None

    def to_plain(self) -> dict[str, object]:
        """Return an entry of ``DecisionTrace.nearest``."""
        return dataclasses.asdict(self, dict_factory=_without_nulls)


@dataclasses.dataclass(frozen=True, slots=True)
class NamedProvider:
    """A provider and the root of its tree."""

    uuid: str
    name: str
    root_provider_uuid: str


@dataclasses.dataclass(frozen=True, slots=True)
class NearestMiss:
    """A provider that fails few conditions."""

    provider: NamedProvider
    lacks: list[Lack]


@dataclasses.dataclass(frozen=True, slots=True)
class GroupExplanation:
    """The conditions of a request group, each with the providers that it alone rejects."""

    suffix: str
    parts: list[Rejection]
    nearest: list[NearestMiss]


@dataclasses.dataclass(frozen=True, slots=True)
class CandidatesExplanation:
    """Why a query has no or few candidates.

    ``providers_total`` counts the providers with an inventory, a tree with the sharing providers
    it can use as one; ``providers_left`` those that have something for each part. ``ruled_out``
    counts each at the first condition it fails, in order; ``root`` has the conditions on roots.
    """

    sentence: str
    has_candidates: bool
    providers_total: int
    providers_left: int
    ruled_out: list[Rejection]
    root: list[Rejection]
    groups: list[GroupExplanation]

    def to_plain(self) -> dict[str, object]:
        """Return JSON values, without what does not apply."""
        return dataclasses.asdict(self, dict_factory=_without_nulls)


def _without_nulls(items: list[tuple[str, object]]) -> dict[str, object]:
    return {name: value for name, value in items if value is not None}
