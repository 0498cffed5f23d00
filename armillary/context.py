"""Request context: identity and request ID that accompany every message."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import fnmatch
from collections.abc import Iterator
from typing import Any

from oslo_context import context as oslo_context


@dataclasses.dataclass(frozen=True, slots=True)
class Signer:
    """The verified identity whose key signed a message, as its trust list has it."""

    name: str
    role: str
    scope: str | None
    """What it acts for: a cell conductor's cell, an agent's name."""
    hosts: tuple[str, ...] = ()
    """Shell patterns of the hosts that an agent was enrolled for, besides that of its name."""

    def is_enrolled_for(self, host: str) -> bool:
        """Return whether this agent's enrolment names a host."""
        return host == self.scope or any(fnmatch.fnmatchcase(host, one) for one in self.hosts)


class RequestContext(oslo_context.RequestContext):
    """Security and tracing data of one request; plain values only, since it crosses processes.

    ``signer`` is of the message that brought it here, None if that was not signed. A handler that
    does only a part of its work says in ``refused_parts`` what is another's than the signer's.
    Neither is sent. ``traceparent`` is the span of a trace that caused the request, if any.
    ``parent_zone`` is the parent zone that a request came from, as its signature proves it; it is
    sent as ``asked_by``, what the sender says, which only the zone endpoint reads.
    ``answer_within_seconds`` is how long the caller of an outgoing call waits: ``rpc.deadlines``.
    """

    FROM_DICT_EXTRA_KEYS = [  # noqa: RUF012 - a list in the base class
        "instance_uuid", "traceparent", "asked_by",
    ]  # fmt: skip

    _is_made = False

    def __init__(
        self,
        *args: Any,
        instance_uuid: str | None = None,
        traceparent: str | None = None,
        asked_by: str | None = None,
        **kwargs: Any,
    ) -> None:
        enters = kwargs.get("overwrite", False)
        super().__init__(*args, **{**kwargs, "overwrite": False})
        self.instance_uuid = instance_uuid
        self.traceparent = traceparent
        self.asked_by = asked_by
        self.parent_zone: str | None = None
        self.answer_within_seconds: float | None = None
        self.signer: Signer | None = None
        self.refused_parts: list[str] = []
        self._is_made = True
        if enters:
            self.update_store()

    def update_store(self) -> None:
        """Let the log lines of this thread carry this context, unless it is still being made.

        The base class would keep the first context that happens to be made in a thread.
        """
        if self._is_made:
            super().update_store()

    @property
    def visible_project(self) -> str | None:
        """The only project whose objects the caller sees; None: an administrator sees all."""
        return None if self.is_admin else self.project_id or ""

    def to_dict(self) -> dict[str, object]:
        own = {"instance_uuid": self.instance_uuid, "traceparent": self.traceparent}
        if self.parent_zone is not None:
            own["asked_by"] = self.parent_zone
        return {**super().to_dict(), **own}

    def with_parent_zone(self, name: str | None) -> RequestContext:
        """Return a copy of a request that came from this parent zone."""
        made = copy.copy(self)
        made.parent_zone = name
        return made

    def for_instance(self, instance_uuid: str) -> RequestContext:
        """Return a copy whose log lines carry the instance's UUID."""
        return RequestContext.from_dict({**self.to_dict(), "instance_uuid": instance_uuid})


@contextlib.contextmanager
def log_context(context: RequestContext | None) -> Iterator[None]:
    """Let the log lines of this thread carry a context, or none, within the block."""
    store = oslo_context._request_store
    former = oslo_context.get_current()
    store.context = context
    try:
        yield
    finally:
        store.context = former


def current_context() -> RequestContext | None:
    """Return the context that the log lines of this thread carry."""
    found = oslo_context.get_current()
    return found if isinstance(found, RequestContext) else None


def admin_context(request_id: str | None = None) -> RequestContext:
    """Return the context of work without a user request (periodic tasks, recovery)."""
    return RequestContext(
        user_id="armillary",
        project_id="armillary",
        roles=["admin"],
        is_admin=True,
        request_id=request_id,
    )
