"""Translation of instance UUIDs between this zone and the zone that asked for an instance.

Both zones use the same UUID unless an earlier attempt used it here
(``conductor.super_conductor.zones.delegated_builds``).
The origin does not know the local UUID, so it is replaced in everything sent there: answers, errors
and reasons.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.db.zones import zone_attempts
from conductor.super_conductor.db.zones.zone_attempts import DelegatedAttempt
from rpc.wire.serializer import ObjectSerializer

T = TypeVar("T")

_SERIALIZER = ObjectSerializer()


class UuidTranslation:
    """Maps local UUIDs to the origin's. Values without a local UUID are returned unchanged."""

    def __init__(self, attempts: Iterable[DelegatedAttempt]) -> None:
        self._names = {
            delegated.local_uuid: delegated.instance_uuid
            for delegated in attempts
            if delegated.local_uuid not in (None, delegated.instance_uuid)
        }

    def __contains__(self, local_uuid: str) -> bool:
        return local_uuid in self._names

    def in_text(self, text: str) -> str:
        """Return a text with the origin's UUIDs."""
        for local, name in self._names.items():
            text = text.replace(str(local), name)
        return text

    def in_answer(self, answer: T) -> T:
        """Return objects and plain values with the origin's UUIDs."""
        if not self._names:
            return answer
        text = json.dumps(_SERIALIZER.serialize_entity(None, answer))
        renamed: T = _SERIALIZER.rebuild(None, json.loads(self.in_text(text)))
        return renamed

    @contextmanager
    def in_errors(self) -> Iterator[None]:
        """Re-raise errors of the block with the origin's UUIDs; their class stays the same."""
        try:
            yield
        except exception.ArmillaryError as error:
            facts = _renamed(error.kwargs, self)
            message = self.in_text(error.message)
            if (message, facts) == (error.message, error.kwargs):
                raise
            raise type(error)(message, **facts) from error


def of_own(session: Session, local_uuids: Collection[str]) -> UuidTranslation:
    """Return the UUID translation for those instances that were built for a walk of this zone.

    They belong to users of this zone, who know the origin's UUID.
    """
    attempts = zone_attempts.by_local_uuid(session, local_uuids, renamed_only=True)
    return UuidTranslation(each for each in attempts.values() if each.origin == zone_attempts.OWN)


def _renamed(value: Any, names: UuidTranslation) -> Any:
    """Return a plain value from an error with its UUIDs translated."""
    if isinstance(value, str):
        return names.in_text(value)
    if isinstance(value, Mapping):
        return {key: _renamed(each, names) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(each, names) for each in value]
    return value
