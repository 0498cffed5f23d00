"""Where errors are found: oslo.messaging rebuilds those of one allowed module."""

import importlib
import pkgutil

import pytest

from armillary import exception

MODULES = [each.name for each in pkgutil.iter_modules(exception.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_every_error_is_found_in_the_allowed_module(name):
    """An error of any module of the package names the package, and is found there by its name."""
    module = importlib.import_module(f"{exception.__name__}.{name}")
    errors = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, exception.ArmillaryError)
    ]
    assert errors
    assert {each.__module__ for each in errors} == {exception.__name__}
    assert [getattr(exception, each.__name__) for each in errors] == errors
