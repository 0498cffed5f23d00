"""All options are registered once, and documented."""

import importlib
from collections import Counter
from typing import cast

import pytest
from oslo_config import cfg, types

from armillary import conf as armillary_conf
from tests.fixtures.configuration import parsed_conf

MODULES = armillary_conf.OPTION_MODULES
DECLARED = [
    (group, option)
    for module in armillary_conf.option_modules()
    for group, options in module.OPTIONS.items()
    for option in options
]
OPTIONS = [pytest.param(group, option, id=f"{group}.{option.name}") for group, option in DECLARED]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_registers_what_it_lists(name: str) -> None:
    """The sample configuration has exactly the options that services read."""
    module = importlib.import_module(f"armillary.conf.{name}")
    conf = parsed_conf(module)
    assert any(module.OPTIONS.values())
    for group, options in module.OPTIONS.items():
        where = conf if group == "DEFAULT" else conf[group]
        assert {option.dest for option in options} <= set(where)


def test_no_option_is_listed_twice() -> None:
    """Two modules may share a group, not an option."""
    counted = Counter((group, option.dest) for group, option in DECLARED)
    assert [name for name, count in counted.items() if count > 1] == []


def test_registering_twice_does_no_harm() -> None:
    """Fixtures and services may both do it."""
    conf = cfg.ConfigOpts()
    armillary_conf.register_all(conf)
    armillary_conf.register_all(conf)


@pytest.mark.parametrize(("group", "option"), OPTIONS)
def test_an_option_says_what_it_is(group: str, option: cfg.Opt) -> None:
    """The sample configuration is the operators' reference."""
    assert option.help
    assert option.help.strip()


@pytest.mark.parametrize(("group", "option"), OPTIONS)
def test_a_number_has_bounds(group: str, option: cfg.Opt) -> None:
    """An absurd value is refused at start; a multiplier may be anything."""
    if isinstance(option, cfg.IntOpt | cfg.FloatOpt) and not option.name.endswith("_multiplier"):
        kind = cast("types.Number", option.type)
        assert (kind.min, kind.max) != (None, None)
