"""Serialisation of objects and contexts, with backports of objects of a newer release."""

import time
from collections.abc import Mapping
from typing import Any, Protocol

import oslo_messaging
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import exception as ovo_exception

from armillary import exception
from armillary.context import RequestContext, Signer
from armillary.metrics import tracing
from objects.base import ArmillaryObject, Primitive
from rpc.deadlines import ANSWER_WITHIN
from rpc.timing import SENT_AT
from rpc.wire.declared_objects import Declared

DEPTH_MAX = 64
"""Maximum nesting of lists and dicts around the objects in a message."""

_MALFORMED = (
    ovo_exception.UnsupportedObjectError, LookupError, TypeError, ValueError, AttributeError,
    OverflowError, RecursionError,
)  # fmt: skip
"""What making an object of wrong fields may raise."""
_NAME = ArmillaryObject.primitive_key("name")


class VerifiedContext(dict[str, object]):
    """A received context with the verified signer of its message, which no message can contain."""

    def __init__(self, received: Mapping[str, Any], signer: Signer) -> None:
        super().__init__(received)
        self.signer = signer
        self.refused_parts: list[str] = []


class BackportAPI(Protocol):
    """Converts objects of a version newer than this process supports: the conductor's API."""

    def object_backport_versions(
        self, context: RequestContext, objinst: Any, object_versions: dict[str, str]
    ) -> Any: ...


class ObjectSerializer(oslo_messaging.Serializer):  # type: ignore[misc]
    """Serialises versioned objects inside lists, tuples and dicts; contexts as plain dicts.

    What is received stays in wire form until :meth:`rebuild`.
    """

    def __init__(self) -> None:
        self._backport: BackportAPI | None = None

    def backport_with(self, backport: BackportAPI) -> None:
        """Set the API that backports objects of a newer version; it may use the bus itself."""
        self._backport = backport

    def serialize_entity(self, context: Any, entity: Any) -> Any:
        if isinstance(entity, ArmillaryObject):
            return entity.obj_to_primitive()
        if isinstance(entity, list | tuple | set):
            return [self.serialize_entity(context, item) for item in entity]
        if isinstance(entity, Mapping):
            return {key: self.serialize_entity(context, value) for key, value in entity.items()}
        return entity

    def deserialize_entity(self, context: Any, entity: Any) -> Any:
        """Return the wire form; :meth:`rebuild` makes what the message's method declares."""
        return entity

    def rebuild(
        self, context: Any, entity: Any, declared: Declared = None, *, depth_max: int = DEPTH_MAX
    ) -> Any:
        """Make the objects in a received value; only declared ones.

        Raises Invalid for any other object, for one whose fields are wrong, and for a value that is
        nested too deeply.
        """
        if isinstance(entity, dict):
            if ArmillaryObject.is_primitive(entity):
                return self._checked_object(context, entity, declared)
            _check_depth(depth_max)
            return {
                key: self.rebuild(context, value, declared, depth_max=depth_max - 1)
                for key, value in entity.items()
            }
        if isinstance(entity, list | tuple):
            _check_depth(depth_max)
            return [
                self.rebuild(context, item, declared, depth_max=depth_max - 1) for item in entity
            ]
        return entity

    def _checked_object(
        self, context: Any, primitive: Primitive, declared: Declared
    ) -> ArmillaryObject:
        name = primitive[_NAME]
        if declared is not None and not (isinstance(name, str) and name in declared):
            raise exception.Invalid(
                reason=f"the object {name!a:.80} is not one of {', '.join(sorted(declared))}"
            )
        try:
            return self._to_object(context, primitive)
        except _MALFORMED as error:
            raise exception.Invalid(
                reason=f"the object {name!a:.80} is malformed: {error!s:.200}"
            ) from error

    def _to_object(self, context: Any, primitive: Primitive) -> ArmillaryObject:
        try:
            made = ArmillaryObject.obj_from_primitive(primitive, context=context)
        except ovo_exception.IncompatibleObjectVersion:
            if self._backport is None:
                raise
            supported = ovo.obj_tree_get_versions(primitive[_NAME])
            older = self._backport.object_backport_versions(context, primitive, supported)
            made = ArmillaryObject.obj_from_primitive(older, context=context)
        return made

    def serialize_context(self, context: RequestContext) -> dict[str, object]:
        found: dict[str, object] = {**context.to_dict(), SENT_AT: time.time()}
        if context.answer_within_seconds is not None:
            found[ANSWER_WITHIN] = context.answer_within_seconds
        if tracing.is_on():
            found[tracing.HEADER] = tracing.traceparent() or context.traceparent
        return found

    def deserialize_context(self, context: dict[str, object]) -> RequestContext:
        made = RequestContext.from_dict(context)
        if isinstance(context, VerifiedContext):
            made.signer, made.refused_parts = context.signer, context.refused_parts
        made.update_store()  # later log lines of this thread belong to this message
        return made


def _check_depth(depth_left: int) -> None:
    if depth_left <= 0:
        raise exception.Invalid(reason=f"a value is nested more than {DEPTH_MAX} levels deep")
