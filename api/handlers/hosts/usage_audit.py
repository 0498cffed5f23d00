"""Audits of usage by hosts, as early clients read them: hosts of this service make none."""

from datetime import UTC, datetime, timedelta

from api.call import Call
from api.handlers.hosts.host import COMPUTE_BINARY
from api.policies.hosts import usage_audit as policies
from api.schemas.hosts import usage_audit as schemas
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes
from armillary.http.validation import invalid


def index(call: Call) -> Answer:
    """Show the audit of the last month: that no host has made one."""
    return Answer({"instance_usage_audit_logs": _log(call, *_month_before(datetime.now(UTC)))})


def show(call: Call) -> Answer:
    """Show the audit of the month before a time."""
    text = call.path["before"]
    try:
        begin, end = _month_before(datetime.fromisoformat(text))
    except (ValueError, OverflowError) as error:  # nothing is before the month 0001-01
        raise invalid("before", text, "It must be a time such as 2030-01-31 12:00:00") from error
    return Answer({"instance_usage_audit_log": _log(call, begin, end)})


def _month_before(moment: datetime) -> tuple[datetime, datetime]:
    """Return begin and end of the last whole month before a time."""
    end = moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return (end - timedelta(days=1)).replace(day=1), end


def _log(call: Call, begin: datetime, end: datetime) -> Document:
    services = call.conductor.list_services(call.context).services
    hosts = sorted(each.host for each in services if each.binary == COMPUTE_BINARY)
    return {
        "period_beginning": f"{begin:%Y-%m-%d %H:%M:%S}",
        "period_ending": f"{end:%Y-%m-%d %H:%M:%S}",
        "num_hosts": len(hosts),
        "num_hosts_done": 0,
        "num_hosts_running": 0,
        "num_hosts_not_run": len(hosts),
        "hosts_not_run": hosts,
        "total_instances": 0,
        "total_errors": 0,
        "overall_status": f"0 of {len(hosts)} hosts done. 0 errors.",
        "log": {},
    }


ROUTES: Routes[Call] = {
    "/v2.1/os-instance_usage_audit_log": {
        "GET": Action(index, policies.LIST, schemas.INDEX_ANSWER)
    },
    "/v2.1/os-instance_usage_audit_log/{before}": {
        "GET": Action(show, policies.SHOW, schemas.SHOW_ANSWER)
    },
}
