"""Allocation candidates: the combinations of providers that fit a request."""

from oslo_utils import timeutils

from armillary.http.call import Answer
from armillary.http.dispatch import Action
from objects.allocations.resource_query import ResourceQuery
from placement.rest import candidates_json, candidates_query, existence_checks
from placement.rest.call import Call, Routes
from placement.rest.policies import allocation_candidate as policies
from placement.rest.schemas import allocation_candidate as schemas


def index(call: Call) -> Answer:
    """List the candidates."""
    query = _question(call)
    asked = candidates_query.resource_classes_of(query)
    shape = candidates_json.Shape.of(call.version)
    with call.engine.candidates(query) as (table, found):
        sheets = candidates_json.collect(table, found, asked, shape)
    now = timeutils.utcnow()
    if sheets.is_long():
        return Answer(stream=sheets.parts(), last_modified=now)
    return Answer(sheets.to_json(), last_modified=now)


def explain(call: Call) -> Answer:
    """Explain why there are no or few candidates."""
    found = call.engine.explain(_question(call))
    return Answer(found.to_plain(), last_modified=timeutils.utcnow())


def _question(call: Call) -> ResourceQuery:
    query = candidates_query.parse(call.query, call.version)
    existence_checks.check_resource_classes(
        call.engine, candidates_query.resource_classes_of(query)
    )
    existence_checks.check_traits(call.engine, candidates_query.traits_of(query))
    return query


ROUTES: Routes = {
    "/allocation_candidates": {
        "GET": Action(index, policies.LIST, since=(1, 10), query=schemas.LIST_QUERY)
    },
    "/allocation_candidates/explanation": {
        "GET": Action(explain, policies.LIST, since=(1, 10), query=schemas.LIST_QUERY)
    },
}
