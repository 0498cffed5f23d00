"""Facts: what a scheduler asks for when it starts."""

from __future__ import annotations

from typing import Any

from armillary.context import RequestContext
from conductor.endpoints.exposed import exposed
from conductor.facts import Facts


class FactsEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    @exposed
    def get_facts(self, context: RequestContext) -> dict[str, Any]:
        return self._facts.get_facts()
