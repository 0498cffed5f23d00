"""Records of child zones: created, changed and removed over the API."""

import dataclasses
from collections.abc import Callable
from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from armillary.db.changes_once import ChangeOnce
from conductor.common.clock import moment
from conductor.super_conductor.db.zones import zone_records
from objects.zones.zone_record import ZoneRecord, ZoneSettings


class ZoneRecordsEndpoint:
    """See ``SuperConductorAPI``. All services learn of a change with the cluster metadata."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database, now: Callable[[], float]) -> None:
        self._conf = conf
        self._database = database
        self._now = now

    def create_zone(
        self, context: RequestContext, name: str, settings: ZoneSettings, verify: bool
    ) -> ZoneRecord:
        values = self._checked(settings, verify=verify)
        if name == self._conf.zones.name:
            raise exception.Invalid(reason=f"{name} is the name of this zone itself")
        if "transport_url" not in values:
            raise exception.Invalid(reason="a zone needs the transport_url of its broker")
        now = self._now()
        once = ChangeOnce.of(context, "create_zone", name)
        made = self._database.insert_in_writer(
            lambda session: once.run(
                session,
                lambda: zone_records.create_zone(session, name=name, now=moment(now), **values),
                get=lambda _: zone_records.get_zone(session, name),
                now=now,
            )
        )
        return made.without_secret()

    def update_zone(
        self, context: RequestContext, zone: str, settings: ZoneSettings, verify: bool
    ) -> ZoneRecord:
        values = self._checked(settings, verify=verify)
        changed = self._database.run_in_writer(
            zone_records.update_zone, zone, values, now=moment(self._now())
        )
        return changed.without_secret()

    def delete_zone(self, context: RequestContext, zone: str, force: bool) -> None:
        self._database.run_in_writer(zone_records.delete_zone, zone, force=force)

    def _checked(self, settings: ZoneSettings, *, verify: bool) -> dict[str, Any]:
        """Return the given values. Raises Invalid for a URL that leads to no broker."""
        given = dataclasses.asdict(settings)
        values = {name: value for name, value in given.items() if value is not None}
        if "transport_url" in values:
            from rpc import broker_check  # its libraries take long to load

            broker_check.check_url(self._conf, values["transport_url"])
            if verify:
                advice = '; with "verify": false (--no-verify) the URL is stored anyway'
                try:
                    broker_check.try_broker(self._conf, values["transport_url"], advice=advice)
                except broker_check.BrokerRefused as error:
                    raise exception.Invalid(reason=error.message) from error
        return values
