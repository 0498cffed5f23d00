"""The reason why the last action on a server failed."""

from __future__ import annotations

from armillary.table_columns import printable
from programs.http_client import ApiClient


def last_failure(api: ApiClient, server_id: str) -> str | None:
    """Return the last action of a server and why it failed; None if it did not fail.

    Administrators get the details, others the user-visible message.
    """
    actions = api.get("servers", server_id, "os-instance-actions")["instanceActions"]
    if not actions or not actions[0]["message"]:
        return None
    faults = api.get("armillary", "servers", server_id, "explain")["explanation"]["faults"]
    reason = actions[0]["message"]
    if faults:
        reason = faults[-1].get("details") or faults[-1]["message"]
    return printable(f"{actions[0]['action']}: {reason}")
