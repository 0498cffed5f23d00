"""Allocations of all consumers, for audits."""

import dataclasses

from api.call import Call
from api.policies.scheduling import allocation as policies
from api.schemas.scheduling import allocation as schemas
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes


def index(call: Call) -> Answer:
    """List allocations by consumer, with totals."""
    listed = call.conductor.list_allocations(
        call.context, marker=call.query.get("marker"), limit=call.page_size
    )
    body: Document = dataclasses.asdict(listed)
    if listed.allocations and len(listed.allocations) >= call.page_size:
        body["allocations_links"] = call.links.next_page(listed.allocations[-1].consumer_uuid)
    return Answer(body)


ROUTES: Routes[Call] = {
    "/v2.1/armillary/allocations": {
        "GET": Action(index, policies.LIST, schemas.INDEX_ANSWER, query=schemas.INDEX_QUERY)
    }
}
