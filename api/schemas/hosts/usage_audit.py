"""Audits of usage by hosts."""

from api.schemas.base import NUMBER, STRING, STRINGS, every

_NUMBERS = (
    "num_hosts", "num_hosts_done", "num_hosts_running", "num_hosts_not_run", "total_instances",
    "total_errors",
)  # fmt: skip
_LOG = every(
    {
        **dict.fromkeys(_NUMBERS, NUMBER),
        **dict.fromkeys(("period_beginning", "period_ending", "overall_status"), STRING),
        "hosts_not_run": STRINGS,
        "log": {"type": "object", "maxProperties": 0},
    }
)
INDEX_ANSWER = every({"instance_usage_audit_logs": _LOG})
SHOW_ANSWER = every({"instance_usage_audit_log": _LOG})
