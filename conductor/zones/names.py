"""The two names of a guest: what it is called here, and what whoever asked for it calls it.

Both are the same unless another attempt had the name before (``conductor.zones.guests``). Nobody at
the origin has heard of the one that is used here: it is replaced in all that goes there, answers,
errors and reasons alike.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from armillary import exception
from conductor.api_db import zone_guests
from conductor.api_db.zone_guests import Guest
from rpc.serializer import ObjectSerializer

T = TypeVar("T")

_SERIALIZER = ObjectSerializer()


class Names:
    """The names of some guests. What names none of them is returned as it was given."""

    def __init__(self, guests: Iterable[Guest]) -> None:
        self._names = {
            guest.local_uuid: guest.instance_uuid
            for guest in guests
            if guest.local_uuid not in (None, guest.instance_uuid)
        }

    def __contains__(self, local_uuid: str) -> bool:
        return local_uuid in self._names

    def in_text(self, text: str) -> str:
        """Return a text that speaks of guests as their origin does."""
        for local, name in self._names.items():
            text = text.replace(str(local), name)
        return text

    def in_answer(self, answer: T) -> T:
        """Return objects and plain values that do."""
        if not self._names:
            return answer
        text = json.dumps(_SERIALIZER.serialize_entity(None, answer))
        renamed: T = _SERIALIZER.deserialize_entity(None, json.loads(self.in_text(text)))
        return renamed

    @contextmanager
    def in_errors(self) -> Iterator[None]:
        """Have errors that are raised in here do so; each stays of its class."""
        try:
            yield
        except exception.ArmillaryError as error:
            facts = _renamed(error.kwargs, self)
            message = self.in_text(error.message)
            if (message, facts) == (error.message, error.kwargs):
                raise
            raise type(error)(message, **facts) from error


def of_own(session: Session, local_uuids: Collection[str]) -> Names:
    """Return the names of those among these instances that were built for a walk of this zone.

    Their users are this zone's, and know the other name.
    """
    guests = zone_guests.by_local_uuid(session, local_uuids, renamed_only=True)
    return Names(each for each in guests.values() if each.origin == zone_guests.OWN)


def _renamed(value: Any, names: Names) -> Any:
    """Return a plain value, which an error is about, with other names in it."""
    if isinstance(value, str):
        return names.in_text(value)
    if isinstance(value, Mapping):
        return {key: _renamed(each, names) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(each, names) for each in value]
    return value
