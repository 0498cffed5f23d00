"""Pools of deployments, made with nothing but the Placement API, as stock clients do."""

import re
from typing import Any

import requests

from tests.fixtures import waiting
from tests.fixtures.deployment import Deployment

TRAIT = "CUSTOM_POOL_STORAGE"


def placement_url(deployment: Deployment) -> str:
    text = (deployment.folder / "placement.conf").read_text(encoding="utf-8")
    found = re.search(r"rest_bind_port = (\d+)", text)
    assert found is not None
    return f"http://127.0.0.1:{found[1]}"


def placement_answers(deployment: Deployment) -> bool:
    try:
        return requests.get(placement_url(deployment), timeout=waiting.seconds(5)).ok
    except requests.RequestException:
        return False


def add_pool(deployment: Deployment, name: str, token: str = "") -> str:
    """Make a pool of storage of 1,000 GB; return its UUID."""
    url = placement_url(deployment)
    headers = {"OpenStack-API-Version": "placement 1.39", "X-Auth-Token": token}
    requests.put(
        f"{url}/traits/{TRAIT}", headers=headers, timeout=waiting.seconds(30)
    ).raise_for_status()
    path = f"{url}/resource_providers"
    made = requests.post(path, json={"name": name}, headers=headers, timeout=waiting.seconds(30))
    made.raise_for_status()
    pool_uuid = str(made.json()["uuid"])
    path = f"{path}/{pool_uuid}"
    parts: dict[str, Any] = {"traits": [TRAIT], "inventories": {"DISK_GB": {"total": 1000}}}
    for generation, (what, value) in enumerate(parts.items()):
        body = {what: value, "resource_provider_generation": generation}
        sent = requests.put(
            f"{path}/{what}", json=body, headers=headers, timeout=waiting.seconds(30)
        )
        sent.raise_for_status()
    return pool_uuid


def used_gb(deployment: Deployment, name: str) -> int:
    """Return what is used of a pool, as placement says."""
    url, headers = placement_url(deployment), {"OpenStack-API-Version": "placement 1.39"}
    found = requests.get(
        f"{url}/resource_providers",
        params={"name": name},
        headers=headers,
        timeout=waiting.seconds(30),
    )
    (pool,) = found.json()["resource_providers"]
    usages = requests.get(
        f"{url}/resource_providers/{pool['uuid']}/usages",
        headers=headers,
        timeout=waiting.seconds(30),
    )
    return int(usages.json()["usages"]["DISK_GB"])
