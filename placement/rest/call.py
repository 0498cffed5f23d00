"""Arguments of the Placement API's handlers: the request, and the state shared by all requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import falcon

from armillary.db.changes_once import ChangeOnce
from armillary.http import call
from armillary.http.dispatch import Action
from armillary.http.own_origin import own_origin
from placement.engine import PlacementEngine


@dataclass(frozen=True, slots=True, kw_only=True)
class AppState(call.Site):
    """State shared by all requests to the Placement API."""

    engine: PlacementEngine
    incomplete_consumer_project_id: str
    incomplete_consumer_user_id: str
    link_prefix: str | None = None


@dataclass(slots=True, kw_only=True)
class Call(call.Call[AppState]):
    """A request to the Placement API.

    ``query`` has every parameter with all its values, in order; ``body`` is the parsed JSON.
    ``root`` is the path below which the API is mounted, such as ``/placement`` or nothing;
    ``origin`` the address that the request arrived at, such as ``http://controller:8778``.
    ``is_keyed``: it has an Idempotency-Key.
    """

    root: str
    origin: str
    is_keyed: bool = False

    @classmethod
    def of(cls, req: falcon.Request, **fields: Any) -> Call:
        """Return the call of a request, with these other fields."""
        origin = fields["site"].link_prefix or own_origin(req.env)
        is_keyed = getattr(req.context, "answer_once", None) is not None
        return cls(root=req.root_path, origin=origin, is_keyed=is_keyed, **fields)

    @property
    def engine(self) -> PlacementEngine:
        """The engine of this process."""
        return self.site.engine

    @property
    def once(self) -> ChangeOnce | None:
        """The change of this request, for writers that make it once; None without a key."""
        return ChangeOnce.of(self.context, "rest") if self.is_keyed else None

    def parameter(self, name: str) -> str | None:
        """Return the last value of a query parameter, None if it was not sent."""
        values = self.query.get(name)
        return values[-1] if values else None

    def link(self, path: str) -> str:
        """Return a path of this API in the form used in ``links``."""
        return f"{self.root}{path}"

    def location(self, path: str) -> str:
        """Return a path of this API in the form used in the header ``Location``."""
        return f"{self.origin}{self.root}{path}"


Routes = Mapping[str, Mapping[str, Action[Call]]]
"""Path -> method -> action."""
