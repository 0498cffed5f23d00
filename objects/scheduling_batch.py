"""SchedulingBatch and SchedulingAnswers: requests that travel together to a scheduler, and back.

Requests often have equal specs, which are sent once. Each is answered on its own, by destinations
or by the error that a call for it alone would have raised.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from armillary import exception
from objects import base, fields
from objects.decision_trace import DecisionTrace
from objects.destinations import Destinations
from objects.request_spec import RequestSpec
from objects.selection import Selection

Answer = Destinations | Exception

_OF_ONE_INSTANCE = frozenset({"instance_uuid"})
"""A scheduler goes by the instances of the request."""


@dataclasses.dataclass(frozen=True, slots=True)
class BatchedRequest:
    """One request: so many instances of a spec, each with the fence of its claim."""

    request_spec: RequestSpec
    instance_uuids: Sequence[str]
    fences: Sequence[int]
    request_id: str | None = None
    return_alternates: bool = True


@base.ArmillaryObjectRegistry.register
class SchedulingBatch(base.ArmillaryObject):
    """Requests for hosts.

    A request is a dict with spec (an index into ``specs``), instance_uuids, fences, request_id and
    return_alternates.
    """

    VERSION = "1.0"

    fields = {
        "specs": fields.ListOfObjectsField("RequestSpec"),
        "requests": fields.JSONField(),
    }

    specs: list[RequestSpec]
    requests: list[dict[str, Any]]

    @classmethod
    def of(cls, requests: Iterable[BatchedRequest]) -> Self:
        """Return the batch; equal specs are in it once."""
        distinct: list[RequestSpec] = []
        index_of: dict[int, int] = {}
        packed = []
        for each in requests:
            index = index_of.get(id(each.request_spec))
            if index is None:
                index = _index_of(each.request_spec, distinct)
                index_of[id(each.request_spec)] = index
            packed.append(
                {
                    "spec": index,
                    "instance_uuids": list(each.instance_uuids),
                    "fences": list(each.fences),
                    "request_id": each.request_id,
                    "return_alternates": each.return_alternates,
                }
            )
        return cls.from_values(specs=distinct, requests=packed)

    def unpacked(self) -> list[BatchedRequest]:
        """Return the requests. Raises ``Invalid`` for a spec that is not there."""
        found = []
        for each in self.requests:
            index = each["spec"]
            if not 0 <= index < len(self.specs):
                raise exception.Invalid(
                    reason=f"a request names spec {index} of a batch that has {len(self.specs)}"
                )
            found.append(
                BatchedRequest(
                    self.specs[index],
                    each["instance_uuids"],
                    each["fences"],
                    each["request_id"],
                    each["return_alternates"],
                )
            )
        return found


@base.ArmillaryObjectRegistry.register
class SchedulingAnswers(base.ArmillaryObject):
    """Answers in the order of the requests.

    A host that several name, mostly as an alternate, is among ``hosts`` once. An answer is a dict
    with choices (for each instance indexes into ``hosts``) and trace (a primitive), or with error
    (the name of a class of ``armillary.exception``), message and facts.
    """

    VERSION = "1.0"

    fields = {
        "hosts": fields.ListOfObjectsField("Selection"),
        "answers": fields.JSONField(),
    }

    hosts: list[Selection]
    answers: list[dict[str, Any]]

    @classmethod
    def of(cls, answers: Iterable[Answer]) -> Self:
        """Return the answers as they travel; an error that is none of ours goes as its text."""
        hosts: list[Selection] = []
        index_of: dict[int, int] = {}
        packed = []
        for answer in answers:
            if isinstance(answer, Exception):
                packed.append(_packed_error(answer))
                continue
            for host in answer.hosts:
                if id(host) not in index_of:
                    index_of[id(host)] = len(hosts)
                    hosts.append(host)
            indexes = [index_of[id(host)] for host in answer.hosts]
            choices = [
                [indexes[choice] for choice in row if choice >= 0]
                for row in answer.choices.tolist()
            ]
            packed.append({"choices": choices, "trace": answer.trace.obj_to_primitive()})
        return cls.from_values(hosts=hosts, answers=packed)

    def unpacked(self) -> list[Answer]:
        """Return the answers; those that name the same host share its selection."""
        return [_unpacked(self.hosts, answer) for answer in self.answers]


def _index_of(spec: RequestSpec, distinct: list[RequestSpec]) -> int:
    """Return where an equal spec is, itself if it has to be put there."""
    for index, known in enumerate(distinct):
        if known.is_equal(spec, but=_OF_ONE_INSTANCE):
            return index
    distinct.append(spec)
    return len(distinct) - 1


def _packed_error(error: Exception) -> dict[str, Any]:
    if isinstance(error, exception.ArmillaryError):
        return {"error": type(error).__name__, "message": error.message, "facts": error.kwargs}
    return {"error": "", "message": f"{type(error).__name__}: {error}", "facts": {}}


def _unpacked(hosts: Sequence[Selection], packed: dict[str, Any]) -> Answer:
    if "error" in packed:
        return _unpacked_error(packed)
    index_of: dict[int, int] = {}
    rows = [
        [index_of.setdefault(choice, len(index_of)) for choice in row] for row in packed["choices"]
    ]
    choices = np.full((len(rows), max(map(len, rows))), -1, dtype=np.int64)
    for row, indexes in zip(choices, rows, strict=True):
        row[: len(indexes)] = indexes
    return Destinations.from_values(
        hosts=[hosts[choice] for choice in index_of],
        choices=choices,
        trace=DecisionTrace.obj_from_primitive(packed["trace"]),
    )


def _unpacked_error(packed: dict[str, Any]) -> Exception:
    made = getattr(exception, packed["error"], None) if packed["error"] else None
    if not (isinstance(made, type) and issubclass(made, exception.ArmillaryError)):
        return exception.RpcFailed(
            method="select_destinations", topic="scheduler", reason=packed["message"]
        )
    return made(packed["message"], **packed["facts"])
