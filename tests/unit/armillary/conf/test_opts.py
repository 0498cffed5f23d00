"""oslo-config-generator finds the options of each program."""

import pytest

from armillary.conf import opts, roles


@pytest.mark.parametrize("program", roles.PROGRAMS)
def test_groups_come_once_in_the_order_of_the_modules(program: str) -> None:
    """[DEFAULT] opens the sample file."""
    groups = [group for group, _options in opts.list_opts(program)]
    assert groups[0] == "DEFAULT"
    assert len(groups) == len(set(groups))


def test_an_agent_is_not_offered_what_others_read() -> None:
    """No database, no plugin of the scheduler; of a shared group only its own options."""
    offered = dict(opts.list_opts(roles.COMPUTE))
    assert not {"api_database", "cell_database", "filter_scheduler", "placement"} & set(offered)
    assert [each.dest for each in offered["metrics"]] == ["port", "listen"]
    assert "default_schedule_zone" not in {each.dest for each in offered["DEFAULT"]}
