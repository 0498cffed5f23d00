"""oslo-config-generator finds the options."""

from __future__ import annotations

from armillary.conf import opts


def test_groups_come_once_in_the_order_of_the_modules() -> None:
    """[DEFAULT] opens the sample file."""
    groups = [group for group, _options in opts.list_opts()]
    assert groups[0] == "DEFAULT"
    assert len(groups) == len(set(groups))
