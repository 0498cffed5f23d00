"""Reason for the failure of a server's last action."""

from armillary.table_columns import printable
from programs.http_client import ApiClient

_TO_SECONDS = len("2026-01-01T00:00:00")


def last_failure(api: ApiClient, server_id: str) -> str | None:
    """Return the last action of a server and why it failed; None if it did not fail.

    Administrators get the details, others the user-visible message.
    """
    actions = api.get("servers", server_id, "os-instance-actions")["instanceActions"]
    if not actions or not actions[0]["message"]:
        return None
    action, reason = actions[0]["action"], actions[0]["message"]
    began = actions[0]["start_time"][:_TO_SECONDS]
    faults = api.get("armillary", "servers", server_id, "explain")["explanation"]["faults"]
    if faults and (faults[-1]["created"] or began)[:_TO_SECONDS] >= began:
        reason = faults[-1].get("details") or faults[-1]["message"]
    return printable(f"{action}: {reason}")
