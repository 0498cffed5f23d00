"""``clouds.yaml``: the access of OpenStack's clients to a deployment."""

from collections.abc import Mapping
from pathlib import Path

import yaml
from oslo_config import cfg

from armillary.files import private_files
from programs.access import own_token

FILE = "clouds.yaml"
CLOUD = "armillary"


def write(conf: cfg.ConfigOpts, api_url: str, placement_url: str) -> Path | None:
    """Write the file into the state directory, readable by this user alone; return its path.

    None if it would need secrets that are not ours: the operator chose the tokens, or Keystone.
    """
    state_dir = Path(conf.state_path)
    if conf.api.auth_strategy == "noauth":
        text = _text(_without_authentication(api_url, placement_url))
    elif conf.api.token_file == str(state_dir / own_token.HASHES_FILE):
        text = with_password(api_url, (state_dir / own_token.TOKEN_FILE).read_text().strip())
    else:
        return None
    path = state_dir / FILE
    private_files.write(path, text)
    return path


def with_password(api_url: str, password: str) -> str:
    """Return the content of the file for the administrator, who logs in at the API."""
    cloud = {
        "auth_type": "password",
        "auth": {
            "auth_url": f"{api_url}/identity/v3",
            "username": own_token.ADMIN,
            "password": password,
            "project_name": own_token.ADMIN,
            "user_domain_name": "Default",
            "project_domain_name": "Default",
        },
        "region_name": "RegionOne",
        "identity_api_version": "3",
    }
    return _text(cloud)


def _without_authentication(api_url: str, placement_url: str) -> dict[str, object]:
    return {
        "auth_type": "none",
        "auth": {"endpoint": f"{api_url}/v2.1"},
        "compute_endpoint_override": f"{api_url}/v2.1",
        "placement_endpoint_override": placement_url,
        "image_endpoint_override": f"{api_url}/image",
    }


def _text(cloud: Mapping[str, object]) -> str:
    return yaml.safe_dump({"clouds": {CLOUD: cloud}}, sort_keys=False)
