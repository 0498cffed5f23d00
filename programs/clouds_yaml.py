"""``clouds.yaml`` of ``armillary up``: the access of OpenStack's clients to this deployment."""

from pathlib import Path

import yaml
from oslo_config import cfg

from armillary import private_files
from programs import own_token

FILE = "clouds.yaml"
CLOUD = "armillary"


def write(conf: cfg.ConfigOpts, api_url: str, placement_url: str) -> Path | None:
    """Write the file into the state directory, readable by this user alone; return its path.

    None if it would need secrets that are not ours: the operator chose the tokens, or Keystone.
    """
    state_dir = Path(conf.state_path)
    if conf.api.auth_strategy == "noauth":
        cloud = _without_authentication(api_url, placement_url)
    elif conf.api.token_file == str(state_dir / own_token.HASHES_FILE):
        cloud = _with_password(state_dir, api_url)
    else:
        return None
    path = state_dir / FILE
    private_files.write(path, yaml.safe_dump({"clouds": {CLOUD: cloud}}, sort_keys=False))
    return path


def _with_password(state_dir: Path, api_url: str) -> dict[str, object]:
    return {
        "auth_type": "password",
        "auth": {
            "auth_url": f"{api_url}/identity/v3",
            "username": own_token.ADMIN,
            "password": (state_dir / own_token.TOKEN_FILE).read_text().strip(),
            "project_name": own_token.ADMIN,
            "user_domain_name": "Default",
            "project_domain_name": "Default",
        },
        "region_name": "RegionOne",
        "identity_api_version": "3",
    }


def _without_authentication(api_url: str, placement_url: str) -> dict[str, object]:
    return {
        "auth_type": "none",
        "auth": {"endpoint": f"{api_url}/v2.1"},
        "compute_endpoint_override": f"{api_url}/v2.1",
        "placement_endpoint_override": placement_url,
        "image_endpoint_override": f"{api_url}/image",
    }
