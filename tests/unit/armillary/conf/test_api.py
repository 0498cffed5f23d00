"""[api] is safe as it comes."""

import pytest
from oslo_config import cfg

from armillary.conf import api
from tests.fixtures.configuration import parsed_conf


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    return parsed_conf(api)


def test_only_this_machine_gets_in_by_default(conf: cfg.ConfigOpts) -> None:
    """There is no authentication until an operator sets one up."""
    assert (conf.api.auth_strategy, conf.api.bind_host) == ("noauth", "127.0.0.1")


def test_it_listens_where_clients_look(conf: cfg.ConfigOpts) -> None:
    """The Compute API's port."""
    assert conf.api.bind_port == 8774


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("auth_strategy", "kerberos"),
        ("max_body_bytes", 0),
        ("max_limit", 0),
        ("threads", 0),
        ("compute_link_prefix", "ftp://x"),
    ],
)
def test_a_value_out_of_bounds_is_refused(conf: cfg.ConfigOpts, option: str, value: object) -> None:
    """Rather than found out later."""
    with pytest.raises(ValueError):  # noqa: PT011 - oslo.config has no class for it
        conf.set_override(option, value, group="api")
