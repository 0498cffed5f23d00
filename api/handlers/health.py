"""Health: liveness and readiness probes of this process, and which services are up."""

import falcon

from api.call import Call
from api.policies import health as policies
from api.schemas import health as schemas
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes
from objects.hosts.service import Service


def check_live(call: Call) -> Answer:
    """Liveness: report that this process runs, without asking other services."""
    return Answer({"status": "ok"})


def check(call: Call) -> Answer:
    """Readiness: report that this process can serve requests; the error says what is missing."""
    missing = call.site.readiness.missing()
    if missing is not None:
        raise falcon.HTTPServiceUnavailable(description=f"No answer from the {missing}.")
    return Answer({"status": "ok"})


def show(call: Call) -> Answer:
    """Show which services and cells are up; fails if the super conductor is down."""
    listed = call.conductor.list_services(call.context)
    services = listed.services
    down = [service for service in services if not service.up]
    return Answer(
        {
            "health": {
                "healthy": not down and not listed.down_cells,
                "down_cells": listed.down_cells,
                "services": {
                    "total": len(services),
                    "up": len(services) - len(down),
                    "disabled": sum(1 for service in services if service.disabled),
                    "down": [_brief(service) for service in down],
                },
            }
        }
    )


def _brief(service: Service) -> Document:
    return {"id": service.uuid, "binary": service.binary, "host": service.host}


ROUTES: Routes[Call] = {
    "/healthcheck": {"GET": Action(check, None, schemas.CHECK_ANSWER)},
    "/healthcheck/live": {"GET": Action(check_live, None, schemas.CHECK_ANSWER)},
    "/v2.1/armillary/health": {"GET": Action(show, policies.SHOW, schemas.SHOW_ANSWER)},
}
