"""Flavors: create, show, change, delete."""

from __future__ import annotations

from typing import Any

from armillary.context import RequestContext
from armillary.db import Database
from conductor.common.clock import Clock, moment
from conductor.super_conductor.db import flavors
from objects.flavor import Flavor


class FlavorsEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, database: Database, now: Clock) -> None:
        self._database = database
        self._now = now

    def create_flavor(self, context: RequestContext, flavor: Flavor) -> Flavor:
        now = moment(self._now())
        return self._database.run_in_writer(
            lambda session: flavors.create_flavor(session, flavor, now=now)
        )

    def get_flavor(self, context: RequestContext, flavor: str) -> Flavor:
        with self._database.reader() as session:
            return flavors.get_flavor(session, flavor)

    def list_flavors(self, context: RequestContext) -> list[Flavor]:
        with self._database.reader() as session:
            return flavors.list_flavors(session)

    def update_flavor(self, context: RequestContext, flavor: str, values: dict[str, Any]) -> Flavor:
        now = moment(self._now())
        return self._database.run_in_writer(
            lambda session: flavors.update_flavor(session, flavor, values, now=now)
        )

    def delete_flavor(self, context: RequestContext, flavor: str) -> None:
        self._database.run_in_writer(lambda session: flavors.delete_flavor(session, flavor))
