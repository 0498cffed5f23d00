"""The table of who reads what names options that exist, and each of them."""

from armillary import conf
from armillary.conf import roles

DECLARED = {
    (group, option.dest)
    for module in conf.option_modules()
    for group, options in module.OPTIONS.items()
    for option in options
}


def test_each_option_has_a_program_that_reads_it() -> None:
    """A new one has to be entered, or its group."""
    assert all(set(roles.readers_of(*each)) <= set(roles.PROGRAMS) for each in DECLARED)
    assert all(roles.readers_of(*each) for each in DECLARED)


def test_nothing_else_is_in_the_table() -> None:
    """An option that is removed leaves the table, too, and so does one like its group."""
    assert set(roles.OPTIONS) <= DECLARED
    assert set(roles.GROUPS) == {group for group, _option in DECLARED}
    assert not [each for each in roles.OPTIONS if roles.OPTIONS[each] == roles.GROUPS[each[0]]]
