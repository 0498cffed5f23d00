"""The fleet: all hosts with their state and use, as columns."""

import json
from collections.abc import Sequence
from typing import Any

from api.call import Call
from api.formats.compression import VARIES
from api.formats.fleet_answers import FleetAnswer, Form
from api.policies.console import fleet as policies
from api.schemas.console import fleet as schemas
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes
from objects.hosts.fleet import FLEET_LIMIT_MAX, HOST_STATES, FleetPage

REVALIDATE = {"Cache-Control": "private, no-cache"}


def index(call: Call) -> Answer:
    """List all hosts by name; a client that names the ETag of its answer gets another if new.

    The answer does not depend on who asks: the policy has decided whether he may.
    """
    limit, marker = call.query.get("limit", FLEET_LIMIT_MAX), call.query.get("marker")
    form = Form(limit, marker, call.query.get("uuids", True))
    known = call.etags[0] if len(call.etags) == 1 else None
    answers = call.site.fleet_answers
    kept = answers.find(form)
    page = call.conductor.get_fleet(
        call.context, limit=limit, marker=marker, known_epoch=known if kept is None else kept.epoch
    )
    headers = {**REVALIDATE, **VARIES, "ETag": f'"{page.epoch}"'}
    if page.epoch == known:
        return Answer(status=304, headers=headers)
    if kept is None or page.epoch != kept.epoch:
        shown = _shown(page, with_uuids=form.with_uuids)
        kept = FleetAnswer(page.epoch, json.dumps(shown, separators=(",", ":")).encode())
        answers.keep(form, kept)
    if not call.accepts_gzip:
        return Answer(kept.plain, headers=headers)
    return Answer(kept.compressed, headers={**headers, "Content-Encoding": "gzip"})


def _shown(page: FleetPage, *, with_uuids: bool) -> Document:
    sets = page.aggregate_sets
    return {
        "epoch": page.epoch,
        "hosts": {
            "name": page.hosts,
            **({"uuid": page.node_uuids} if with_uuids else {}),
            "cell": page.cell.tolist(),
            "zone": page.zone.tolist(),
            "state": [HOST_STATES[number] for number in page.state.tolist()],
            "servers": page.servers.tolist(),
            "aggregates": [sets[number] for number in page.aggregate_set.tolist()],
            "capacity": _by_class(page.resource_classes, page.capacity),
            "used": _by_class(page.resource_classes, page.used),
        },
        "names": {"cells": page.cells, "zones": page.zones, "aggregates": page.aggregates},
        "traits": {"names": page.traits, "sets": page.trait_sets, "hosts": page.trait_set.tolist()},
        "next_marker": page.next_marker,
    }


def _by_class(names: Sequence[str], figures: Any) -> Document:
    """Return a column for each class; a host without an inventory has null."""
    columns = zip(names, figures.T.tolist(), strict=True)
    return {name: [None if number < 0 else number for number in column] for name, column in columns}


ROUTES: Routes[Call] = {
    "/v2.1/armillary/fleet": {
        "GET": Action(
            index, policies.LIST, schemas.INDEX_ANSWER, query=schemas.INDEX_QUERY, has_etag=True
        )
    }
}
