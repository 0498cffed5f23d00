"""Tests of the options of quotas."""

import pytest

from armillary.conf import quota
from conductor.super_conductor.accept.quotas import RESOURCES
from tests.fixtures.configuration import parsed_conf


def test_every_resource_has_a_limit() -> None:
    """With the defaults that operators know."""
    conf = parsed_conf(quota)
    limits = {name: conf.quota[name] for name in RESOURCES}
    assert limits == {
        "instances": 10, "cores": 20, "ram": 51200, "server_groups": 10, "server_group_members": 10,
        "metadata_items": 128, "key_pairs": 100,
    }  # fmt: skip
    with pytest.raises(ValueError, match="greater than or equal to -1"):
        conf.set_override("ram", -2, group="quota")
